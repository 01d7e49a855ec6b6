#include "app/model_input.h"

#include <algorithm>

#include "arith/evaluate.h"
#include "ir/exceptions.h"

namespace tapml::app {

ModelInput::ModelInput(const Module& module, const ModelFunction& function, Role role)
    : name_(role_name(role)), bounds_(module.facts.bounds) {
  const relax::Function* own = relax::as_relax_function(module.find(function.name));
  const auto at = std::ranges::find(function.inputs, role) - function.inputs.begin();
  const relax::TensorAnnotation* tensor = nullptr;
  if (own && at < std::ssize(function.inputs) && at < std::ssize(own->params)) {
    tensor = relax::as_tensor(own->params[static_cast<size_t>(at)]->annotation);
  }
  if (!tensor || !tensor->dtype || !tensor->shape || tensor->shape->size() < 2) {
    throw_user("the model does not declare the " + name_ + " that it takes",
               "function " + function.name + " of the model",
               name_ + " as a tensor [b, m, ...] with a dtype", model_function_text(function));
  }
  dtype_ = *tensor->dtype;
  dims_ = *tensor->shape;
  for (const auto& [name, most] : own->facts.bounds) bounds_[name] = most;
}

HostTensor ModelInput::of_one_text(const HostTensor& tensor, const std::string& where) const {
  Shape shape = tensor.shape();
  if (shape.size() == dims_.size() && shape[0] == 1) shape.erase(shape.begin());
  const bool has_dtype = tensor.dtype() == dtype_;
  if (has_dtype && fits(shape)) return tensor.reshaped(shape);
  const std::string dtype = dtype_name(dtype_);
  throw_user("the " + name_ + " do not fit the model", where,
             dtype + shape_text("") + ", or " + dtype + shape_text("1") + bounds_text(),
             dtype_name(tensor.dtype()) + shape_to_string(tensor.shape()),
             has_dtype ? "prepare them as the model expects" : "convert them to " + dtype);
}

int64_t ModelInput::constant_extent(size_t dim) const {
  const bool is_constant = dim + 1 < dims_.size() && dims_[dim + 1].is_int();
  return is_constant ? dims_[dim + 1]->int_value : 0;
}

bool ModelInput::fits(const Shape& shape) const {
  if (shape.size() + 1 != dims_.size()) return false;
  arith::Values known = {{dims_[0].get(), 1}};
  for (size_t i = 0; i < shape.size(); ++i) {
    const PrimExpr& dim = dims_[i + 1];
    if (dim.is_var() && known.emplace(dim.get(), shape[i]).second) {
      const auto bound = bounds_.find(dim->name);
      if (shape[i] < 1 || (bound != bounds_.end() && shape[i] > bound->second)) return false;
    } else if (arith::evaluate(dim, known).value_or(shape[i]) != shape[i]) {
      return false;
    }
  }
  return true;
}

std::string ModelInput::shape_text(const std::string& first) const {
  std::string text = first;
  for (size_t i = 1; i < dims_.size(); ++i)
    text += (text.empty() ? "" : ", ") + to_string(dims_[i]);
  return "[" + text + "]";
}

std::string ModelInput::bounds_text() const {
  std::string text;
  for (size_t i = 1; i < dims_.size(); ++i) {
    const auto bound = dims_[i].is_var() ? bounds_.find(dims_[i]->name) : bounds_.end();
    if (bound == bounds_.end()) continue;
    text += ", " + bound->first + " at most " + std::to_string(bound->second);
  }
  return text;
}

}  // namespace tapml::app
