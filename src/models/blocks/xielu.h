// An activation with weights of its own: xIELU (Huang and Schlag 2025).
#pragma once

#include "models/graph.h"

namespace tapml::models {

// beta * x + a * x² above 0 and beta * x + b * (e^min(x, eps) - 1 - x) elsewhere, with a =
// softplus(alpha_p) and b = beta + softplus(alpha_n): any shape, in f32 and then in the dtype of
// activations. The weights are "<path>.alpha_p" and "<path>.alpha_n" [1], "<path>.beta" and
// "<path>.eps" []. Sets the origin to `path`.
relax::Variable xielu(Graph& g, const std::string& path, const relax::Variable& x);

}  // namespace tapml::models
