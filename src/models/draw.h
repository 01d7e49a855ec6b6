// Random sampling of the next token, as a function of a language model's Module.
#pragma once

#include "ir/module.h"

namespace tapml::models {

// Adds to `module`
//   draw (logits f32[b, vocabulary], parameters f64[b, 3] (temperature, top-p, top-k), state
//        i64[b, 2] (key and counter of a generator)) -> (tokens i32[b], state)
// which is bit-identical to llm::sample_token, row by row: a stable sort, then the tensor program
// `draw_token`, which is its own specification. Increments a row's counter in place. A row that
// cannot be sampled (NaN, +infinity, only -infinity) gives -1 and keeps its counter. The
// temperature is positive. A top-k of 0 or less, or above the vocabulary, keeps all tokens. The
// function needs f64, so it is optional (pipeline/optional_functions.h).
void add_draw(Module& module, int64_t vocabulary);

}  // namespace tapml::models
