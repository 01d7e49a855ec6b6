// Symbolic names for the dimensions of generated programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arith/evaluate.h"
#include "ir/expr.h"
#include "tensor/host_tensor.h"

namespace tapml::fuzz {

// The form of dimensions in the program.
enum class DimForm : uint8_t {
  kStatic,
  kSymbolic,  // every dimension of at least 2 as a variable, equal ones as the same
  kFirst,     // only the first dimension of each tensor
};

// Expressions of dimensions in one form.
class DimNames {
 public:
  explicit DimNames(DimForm form) : form_(form) {}
  Dims tensor(const Shape& shape) {
    Dims dims;
    for (size_t d = 0; d < shape.size(); ++d) {
      bool named =
          shape[d] >= 2 && (form_ == DimForm::kSymbolic || (form_ == DimForm::kFirst && d == 0));
      dims.push_back(named ? variable(shape[d]) : PrimExpr(shape[d]));
      any_ |= named;
    }
    return dims;
  }
  // Integers of a shape argument: those that represent a dimension of a tensor follow it.
  Dims integers(const std::vector<int64_t>& ints) {
    Dims dims;
    for (int64_t value : ints) {
      auto it = names_.find(value);
      bool named = form_ == DimForm::kSymbolic && it != names_.end();
      dims.push_back(named ? PrimExpr(it->second) : PrimExpr(value));
    }
    return dims;
  }
  bool any() const { return any_; }
  DimForm form() const { return form_; }
  // Whether a tensor of that shape has these dimensions.
  bool states(const Dims& dims, const Shape& shape) const {
    for (size_t d = 0; d < shape.size(); ++d) {
      auto it = names_.find(shape[d]);
      bool named = form_ == DimForm::kSymbolic && shape[d] >= 2;
      if (named ? it == names_.end() || dims[d].get() != it->second.get() : !dims[d].is_int()) {
        return false;
      }
    }
    return true;
  }
  // Extents of the variables created so far.
  arith::Values values() const {
    arith::Values values;
    for (const auto& [extent, var] : names_) values[var.get()] = extent;
    return values;
  }

 private:
  PrimExpr variable(int64_t extent) {
    auto it = names_.find(extent);
    if (it == names_.end()) {
      it = names_.emplace(extent, make_var("n" + std::to_string(extent))).first;
    }
    return it->second;
  }
  DimForm form_;
  bool any_ = false;
  std::map<int64_t, Var> names_;
};

}  // namespace tapml::fuzz
