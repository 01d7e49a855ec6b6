// What a function of a model takes of one text, for tensors that a user gives.
#pragma once

#include <string>

#include "abi/model_interface.h"
#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::app {

// An input [b, m, ...] of a function, for one text: [m, ...].
class ModelInput {
 public:
  // UserError if the module does not declare the dtype and the shape of the function's input.
  ModelInput(const Module& module, const ModelFunction& function, Role role);

  // The tensor as [m, ...], from that or from [1, m, ...]. UserError for another dtype or shape;
  // `where` names the tensor.
  HostTensor of_one_text(const HostTensor& tensor, const std::string& where) const;
  // The extent of dimension `dim` of [m, ...]; 0 where calls may differ in it.
  int64_t constant_extent(size_t dim) const;

 private:
  bool fits(const Shape& shape) const;
  // The shape with `first` in place of b: "[1, m, 7]"; without it if `first` is empty.
  std::string shape_text(const std::string& first) const;
  std::string bounds_text() const;

  std::string name_;  // "features"
  DType dtype_ = DType::kF32;
  Dims dims_;
  SymbolBounds bounds_;
};

}  // namespace tapml::app
