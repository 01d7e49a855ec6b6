#include "llm/input_of_text.h"

#include <algorithm>

#include "base/strings.h"

namespace tapml::llm {

InputOfText::Dim InputOfText::dim_of(const VmFunction& function, const DimCheck& check) {
  if (check.define_slot >= 0) {
    const auto slot = static_cast<size_t>(check.define_slot);
    const bool is_known = slot < function.sources.size();
    return {std::nullopt, is_known ? function.sources[slot].name : "m", check.most};
  }
  const Result<int64_t> value = evaluate(check.equals, {});
  return {value ? std::optional(*value) : std::nullopt, check.expression, -1};
}

std::optional<InputOfText> InputOfText::find(const Executable& executable,
                                             const ModelFunction& function, Role role) {
  const auto at = std::ranges::find(function.inputs, role) - function.inputs.begin();
  const VmFunction* compiled = executable.find_function(function.name);
  const ValueCheck* check =
      compiled ? check_of_parameter(*compiled, static_cast<size_t>(at)) : nullptr;
  if (!check || check->kind != ValueCheck::Kind::kTensor || !check->has_dtype || !check->has_dims ||
      check->dims.empty()) {
    return std::nullopt;
  }
  InputOfText input;
  input.dtype_ = check->dtype;
  input.texts_ = dim_of(*compiled, check->dims[0]);
  for (size_t i = 1; i < check->dims.size(); ++i) {
    input.dims_.push_back(dim_of(*compiled, check->dims[i]));
  }
  return input;
}

bool InputOfText::takes(const HostTensor& tensor) const {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != dtype_ || std::ssize(shape) != rank()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& dim = dims_[i];
    if (shape[i] < 1 || (dim.constant && shape[i] != *dim.constant)) return false;
    if (dim.most >= 0 && shape[i] > dim.most) return false;
  }
  return true;
}

std::string InputOfText::text() const {
  std::string bounds;
  for (const Dim& dim : dims_) {
    if (dim.most >= 0) bounds += ", " + dim.name + " at most " + std::to_string(dim.most);
  }
  return std::string(dtype_name(dtype_)) + "[" +
         join(dims_,
              [](const Dim& dim) {
                return dim.constant ? std::to_string(*dim.constant) : dim.name;
              }) +
         "]" + bounds;
}

}  // namespace tapml::llm
