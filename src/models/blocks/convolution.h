// Convolutions over rows, such as frames of sound.
#pragma once

#include "models/graph.h"

namespace tapml::models {

struct ConvolutionConfig {
  int64_t outputs = 0;
  int64_t kernel = 3;  // rows of a window, odd
  int64_t stride = 1;  // rows between windows
};

// Windows of x [b, rows, inputs], around each stride-th row and with zeros beyond both ends, times
// "<path>.weight" [outputs, inputs, kernel], plus "<path>.bias" [outputs]: [b, (rows - 1) / stride
// + 1, outputs] in the dtype of activations. `rows` is constant. Sets the origin to `path`.
relax::Variable convolution(Graph& g, const std::string& path, const relax::Variable& x,
                            const ConvolutionConfig& config);

}  // namespace tapml::models
