// Drawing the next token at random, as a function of a language model's Module.
#pragma once

#include "ir/module.h"

namespace tapml::models {

// Adds to `module`
//   draw (logits f32[b, vocabulary], parameters f64[b, 3] (temperature, top-p, top-k), state
//        i64[b, 2] (key and counter of a generator)) -> (tokens i32[b], state)
// which is llm::sample_token to the bit, row by row: a stable sort, then the tensor program
// `draw_token`, which is its own specification. A row's counter goes up by one, in place. A row
// from which nothing can be drawn (NaN, +infinity, -infinity alone) gives -1 and keeps its counter.
// The temperature is above 0. A top-k of 0 or less, or above the vocabulary, keeps all tokens.
// It needs f64, so the function is optional (pipeline/optional_functions.h).
void add_draw(Module& module, int64_t vocabulary);

}  // namespace tapml::models
