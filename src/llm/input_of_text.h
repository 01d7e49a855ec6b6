// What a model's function takes of one text as one of its inputs. Internal to the component.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec/executable.h"

namespace tapml::llm {

// An input [b, ...] without b, as the executable checks it.
class InputOfText {
 public:
  // Nothing if the function does not declare the input's dtype and dimensions.
  static std::optional<InputOfText> find(const Executable& executable,
                                         const ModelFunction& function, Role role);

  DType dtype() const { return dtype_; }
  // b, if it is the same at every call.
  std::optional<int64_t> constant_texts() const { return texts_.constant; }
  int64_t rank() const { return std::ssize(dims_); }
  // The extent of a dimension if it is the same at every call.
  std::optional<int64_t> constant_extent(size_t dim) const { return dims_[dim].constant; }
  // Whether the dtype and the shape fit. Relations between dimensions are left to the call.
  bool takes(const HostTensor& tensor) const;
  std::string text() const;  // "f32[m, 7], m at most 20"

 private:
  struct Dim {
    std::optional<int64_t> constant;
    std::string name;   // of others: "m", "m + 1"
    int64_t most = -1;  // of a variable with a bound
  };
  static Dim dim_of(const VmFunction& function, const DimCheck& check);

  DType dtype_ = DType::kF32;
  Dim texts_;
  std::vector<Dim> dims_;
};

}  // namespace tapml::llm
