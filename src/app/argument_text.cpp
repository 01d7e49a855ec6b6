#include "app/argument_text.h"

#include <algorithm>
#include <optional>

#include "app/argument_cursor.h"
#include "app/argument_value.h"
#include "arith/evaluate.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

using Kind = HostValue::Kind;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "tensor";
    case Kind::kShape:
      return "shape";
    case Kind::kPrim:
      return "host scalar";
    case Kind::kTuple:
      return "tuple";
    case Kind::kFunction:
      return "function";
  }
  return "value";
}

// How `value` fails to match the annotation; empty if it matches, as far as that is known without
// other arguments.
std::string misfit(const HostValue& value, const relax::Annotation& annotation,
                   const arith::Values& sizes) {
  auto kind_is = [&](Kind kind) { return value.kind == kind; };
  auto other_kind = [&] { return std::string("a ") + kind_name(value.kind); };
  auto dims_misfit = [&](const Shape& shape, const std::optional<Dims>& dims, int ndim) {
    if (ndim >= 0 && std::ssize(shape) != ndim) return std::to_string(shape.size()) + " dimensions";
    for (size_t i = 0; dims && i < shape.size(); ++i) {
      const std::optional<int64_t> known = arith::evaluate((*dims)[i], sizes);
      if (known && *known != shape[i]) {
        return std::to_string(shape[i]) + " in dimension " + std::to_string(i);
      }
    }
    return std::string();
  };
  if (const auto* tensor = relax::as_tensor(annotation)) {
    if (!kind_is(Kind::kTensor)) return other_kind();
    if (tensor->dtype && *tensor->dtype != value.tensor.dtype()) {
      return dtype_name(value.tensor.dtype());
    }
    return dims_misfit(value.tensor.shape(), tensor->shape, tensor->ndim);
  }
  if (const auto* shape = relax::as_shape(annotation)) {
    if (!kind_is(Kind::kShape)) return other_kind();
    return dims_misfit(value.shape, shape->dims, shape->ndim);
  }
  if (const auto* prim = relax::as_prim(annotation)) {
    if (!kind_is(Kind::kPrim)) return other_kind();
    return prim->dtype == value.dtype ? "" : dtype_name(value.dtype);
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    if (!kind_is(Kind::kTuple)) return other_kind();
    if (tuple->fields.size() != value.fields.size()) {
      return std::to_string(value.fields.size()) + " fields";
    }
    for (size_t i = 0; i < value.fields.size(); ++i) {
      const std::string field = misfit(value.fields[i], tuple->fields[i], sizes);
      if (!field.empty()) return field + " in field " + std::to_string(i);
    }
    return "";
  }
  if (relax::as_callable(annotation) && !kind_is(Kind::kFunction)) return other_kind();
  return "";
}

arith::Values sizes_of(const relax::Function& function,
                       const std::map<std::string, int64_t>& sizes) {
  std::vector<Var> vars;
  for (const relax::Variable& param : function.params) {
    relax::collect_vars(param->annotation, vars);
  }
  arith::Values values;
  std::vector<std::string_view> names;
  for (const Var& var : vars) {
    names.push_back(var.get()->name);
    if (const auto size = sizes.find(var.get()->name); size != sizes.end()) {
      values[var.get()] = size->second;
    }
  }
  for (const auto& [name, value] : sizes) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw_user("the function's parameters have no variable of this name", "--bind",
               names.empty() ? "no variable" : join_choices(names), name, suggestion(name, names));
  }
  return values;
}

}  // namespace

ArgumentReader::ArgumentReader(const relax::Function& function, std::string name,
                               std::map<std::string, int64_t> sizes)
    : function_(function), name_(std::move(name)), sizes_(std::move(sizes)) {}

std::vector<HostValue> ArgumentReader::read(const std::vector<std::string>& texts) const {
  const arith::Values sizes = sizes_of(function_, sizes_);
  std::vector<std::string_view> names;
  for (const relax::Variable& param : function_.params) names.push_back(param->name);
  const std::string expected =
      name_ + "(" +
      join(function_.params,
           [](const relax::Variable& param) {
             return param->name + ": " + relax::to_string(param->annotation);
           }) +
      ")";
  std::vector<std::optional<std::string_view>> given(names.size());
  for (const std::string& text : texts) {
    size_t end = 0;
    while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
    const bool named = end > 0 && end < text.size() && text[end] == '=';
    const std::string name = text.substr(0, end);
    auto at =
        named ? std::ranges::find(names, name)
              : names.begin() + (std::ranges::find_if(given, [](const auto& one) { return !one; }) -
                                 given.begin());
    if (at == names.end()) {
      throw_user(named ? "the function has no such parameter" : "the function has fewer parameters",
                 "--args", expected, in_quotes(text), named ? suggestion(name, names) : "");
    }
    auto& place = given[static_cast<size_t>(at - names.begin())];
    if (place) throw_user("an argument is given twice", "--args", "one value", in_quotes(text));
    place = std::string_view(text).substr(named ? end + 1 : 0);
  }
  std::vector<HostValue> values;
  for (size_t i = 0; i < given.size(); ++i) {
    const relax::Variable& param = function_.params[i];
    if (!given[i]) {
      throw_user("argument " + param->name + " is missing", "--args", expected,
                 std::to_string(texts.size()) + (texts.size() == 1 ? " argument" : " arguments"),
                 "NAME=VALUE, with a VALUE like " + std::string(kArgumentForms));
    }
    HostValue value = read_argument(*given[i], param->name, param->annotation, sizes);
    if (const std::string found = misfit(value, param->annotation, sizes); !found.empty()) {
      throw_user("argument " + param->name + " does not fit its annotation", "--args",
                 relax::to_string(param->annotation), describe(value) + ": " + found);
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace tapml::app
