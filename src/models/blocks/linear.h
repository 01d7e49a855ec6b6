// Linear layers: x times the transpose of a weight [outputs, inputs], plus a bias.
#pragma once

#include "models/graph.h"

namespace tapml::models {

struct LinearConfig {
  bool bias = false;
  // Few outputs, which affect many others (a router, a gate): the weight is never quantized.
  bool narrow = false;
  // The files have the transpose, [inputs, outputs] (GPT-2's Conv1D); --quantize leaves it out.
  bool transposed = false;
};

// [..., inputs] to [..., outputs] by "<path>.weight" and, if there is one, "<path>.bias", in the
// dtype of activations. Sets the origin to `path`.
relax::Variable linear(Graph& g, const std::string& path, const relax::Variable& x, int64_t outputs,
                       const LinearConfig& config = {});

}  // namespace tapml::models
