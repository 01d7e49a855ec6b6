// The tensors of a GGUF file that is made of a published model: the inverse of gguf_weights().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/gguf/export_fields.h"
#include "frontend/huggingface/weights.h"

namespace tapml::frontend {

// Widens a row of a tensor, by its number in the file, to f32. May be called by several threads.
using GgufRows = std::function<void(int64_t row, std::span<float> to)>;

// A tensor of the file, without its type.
struct GgufExportTensor {
  std::string name;
  Shape shape;                     // outermost dimension first
  std::function<GgufRows()> open;  // what it reads stays in memory as long as its result
};

// All weights of the model and the factors of its rotation, in the order of its layers. UserError
// for a weight that GGUF files of the architecture have no name for; opening one is a UserError for
// a weight that is missing or of another shape.
std::vector<GgufExportTensor> gguf_export_tensors(const GgufArchitecture& architecture,
                                                  const PublishedDecoder& model,
                                                  std::shared_ptr<const WeightFiles> files);

}  // namespace tapml::frontend
