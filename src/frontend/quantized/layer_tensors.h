// The tensors of one quantized layer.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/huggingface/weights.h"

namespace tapml::frontend {

// A tensor with its dtype in the file, of which those that HostTensor lacks are bytes.
struct StoredTensor {
  HostTensor tensor;
  std::string dtype;  // as in safetensors: "F8_E4M3"

  bool is_float8() const { return dtype == "F8_E4M3" || dtype == "F8_E5M2"; }
};

// Finds tensors by the ends of their names and notes which were taken. Errors name the tensor and
// its file.
class LayerTensors {
 public:
  // Of the layer whose tensors begin with `path`. `files` must outlive it.
  LayerTensors(const WeightFiles& files, std::string path)
      : files_(files), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const std::vector<std::string>& taken() const { return taken_; }

  bool has(std::string_view suffix) const;
  // UserError for a tensor that is missing or of a dtype that is not in the list. "F8" stands for
  // both kinds of float8.
  StoredTensor take(std::string_view suffix, std::initializer_list<std::string_view> dtypes);
  // UserError for another shape.
  StoredTensor take(std::string_view suffix, std::initializer_list<std::string_view> dtypes,
                    const Shape& shape);
  // Notes a tensor, if it is there, that changes nothing.
  void skip(std::string_view suffix);

  // UserError about this tensor.
  [[noreturn]] void refuse(std::string_view suffix, const std::string& problem,
                           const std::string& expected, const std::string& found,
                           const std::string& hint = "") const;

 private:
  std::string name(std::string_view suffix) const { return path_ + std::string(suffix); }
  std::string file(const std::string& name) const;

  const WeightFiles& files_;
  std::string path_;
  std::vector<std::string> taken_;
};

}  // namespace tapml::frontend
