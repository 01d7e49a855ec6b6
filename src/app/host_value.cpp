#include "app/host_value.h"

#include <array>
#include <charconv>
#include <cmath>

#include "exec/executable.h"
#include "ir/exceptions.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::app {

namespace {

using Kind = HostValue::Kind;

std::string prim_text(const HostValue& value) {
  if (value.dtype == DType::kBool) return value.integer != 0 ? "true" : "false";
  return std::to_string(value.integer);
}

std::string dims_text(const Shape& shape) {
  const std::string text = shape_to_string(shape);
  return text.substr(1, text.size() - 2);
}

int64_t integer_element(const HostTensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return tensor.dtype() == DType::kI64 ? tensor.values<int64_t>()[i]
                                       : static_cast<int64_t>(tensor.at_f64(index));
}

template <class Float>
std::string shortest(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Prints one dimension; `at` is the first element in it.
void add_elements(const HostTensor& tensor, bool whole, size_t dim, int64_t at, size_t width,
                  std::string& text) {
  constexpr int64_t kEdge = 3;
  const Shape& shape = tensor.shape();
  if (dim == shape.size()) {
    const std::string element = element_text(tensor, at);
    text.append(width > element.size() ? width - element.size() : 0, ' ');
    text += element;
    return;
  }
  int64_t below = 1;
  for (size_t d = dim + 1; d < shape.size(); ++d) below *= shape[d];
  const bool innermost = dim + 1 == shape.size();
  const std::string separator = innermost ? ", " : ",\n" + std::string(dim + 1, ' ');
  text += '[';
  for (int64_t i = 0; i < shape[dim]; ++i) {
    if (i > 0) text += separator;
    if (!whole && shape[dim] > 2 * kEdge && i == kEdge) {
      text += "..." + separator;
      i = shape[dim] - kEdge;
    }
    add_elements(tensor, whole, dim + 1, at + i * below, width, text);
  }
  text += ']';
}

}  // namespace

std::string describe(const HostValue& value) {
  switch (value.kind) {
    case Kind::kTensor:
      return dtype_name(value.tensor.dtype()) + shape_to_string(value.tensor.shape());
    case Kind::kShape:
      return "shape(" + dims_text(value.shape) + ")";
    case Kind::kPrim:
      return std::string(dtype_name(value.dtype)) + " " + prim_text(value);
    case Kind::kTuple:
      return "a tuple of " + std::to_string(value.fields.size());
    case Kind::kFunction:
      return "function " + value.function;
  }
  return "nothing";
}

interp::Value to_interpreter(const HostValue& value) {
  switch (value.kind) {
    case Kind::kTensor:
      return interp::Value::tensor(op::RefTensor::from(value.tensor));
    case Kind::kShape:
      return interp::Value::shape(value.shape);
    case Kind::kPrim:
      return value.dtype == DType::kI64 ? interp::Value::prim(value.integer)
                                        : interp::Value::scalar({value.dtype, value.integer, 0});
    case Kind::kFunction:
      return interp::Value::function(value.function);
    case Kind::kTuple:
      break;
  }
  interp::ValueList fields;
  for (const HostValue& field : value.fields) fields.push_back(to_interpreter(field));
  return interp::Value::tuple(std::move(fields));
}

runtime::Value to_machine(const HostValue& value, runtime::Session& session,
                          const Executable& executable) {
  switch (value.kind) {
    case Kind::kTensor:
      return unwrap(runtime::upload(session, value.tensor));
    case Kind::kShape:
      return value.shape;
    case Kind::kPrim:
      return runtime::Prim{value.dtype, value.integer};
    case Kind::kFunction: {
      auto closure = std::make_shared<runtime::Closure>();
      closure->function = executable.find_function(value.function);
      if (!closure->function) {
        throw_user("the module has no function " + value.function + " to pass");
      }
      runtime::Value result;
      result.data = std::shared_ptr<const runtime::Closure>(std::move(closure));
      return result;
    }
    case Kind::kTuple:
      break;
  }
  auto fields = std::make_shared<runtime::ValueList>();
  for (const HostValue& field : value.fields) {
    fields->push_back(to_machine(field, session, executable));
    if (const runtime::ValueList* inner = fields->back().tuple()) {
      fields->nesting = std::max(fields->nesting, inner->nesting + 1);
    }
  }
  runtime::Value result;
  result.data = std::shared_ptr<const runtime::ValueList>(std::move(fields));
  return result;
}

HostValue from_interpreter(const interp::Value& value) {
  HostValue result;
  if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
    return HostValue::of(tensor->to_host());
  }
  if (const auto* shape = std::get_if<std::vector<int64_t>>(&value.data)) {
    result.kind = Kind::kShape;
    result.shape = *shape;
  } else if (const auto* number = std::get_if<int64_t>(&value.data)) {
    result.kind = Kind::kPrim;
    result.integer = *number;
  } else if (const auto* scalar = std::get_if<interp::Scalar>(&value.data)) {
    result.kind = Kind::kPrim;
    result.dtype = scalar->dtype;
    result.integer = scalar->integer;
  } else if (const auto* function = std::get_if<interp::FunctionValue>(&value.data)) {
    result.kind = Kind::kFunction;
    result.function = function->name;
  } else {
    result.kind = Kind::kTuple;
    for (const interp::Value& field : value.as_tuple()) {
      result.fields.push_back(from_interpreter(field));
    }
  }
  return result;
}

HostValue from_machine(const runtime::Value& value) {
  HostValue result;
  if (const runtime::Tensor* tensor = value.tensor()) {
    return HostValue::of(unwrap(runtime::download(*tensor)));
  }
  if (const Shape* shape = value.shape()) {
    result.kind = Kind::kShape;
    result.shape = *shape;
  } else if (const runtime::Prim* prim = value.prim()) {
    result.kind = Kind::kPrim;
    result.dtype = prim->dtype;
    result.integer = prim->value;
  } else if (const runtime::Closure* closure = value.closure()) {
    result.kind = Kind::kFunction;
    result.function = closure->function ? closure->function->name : "";
  } else if (const runtime::ValueList* list = value.tuple()) {
    result.kind = Kind::kTuple;
    for (const runtime::Value& field : *list) result.fields.push_back(from_machine(field));
  } else {
    throw_internal("a function returned a value that has no form on the host");
  }
  return result;
}

std::string element_text(const HostTensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  switch (tensor.dtype()) {
    case DType::kF64:
      return shortest(tensor.values<double>()[i]);
    case DType::kF32:
      return shortest(tensor.values<float>()[i]);
    case DType::kF16:
    case DType::kBF16:
      return shortest(static_cast<float>(tensor.at_f64(index)));
    case DType::kBool:
      return tensor.values<uint8_t>()[i] != 0 ? "true" : "false";
    case DType::kU64:
      return std::to_string(tensor.values<uint64_t>()[i]);
    default:
      return std::to_string(integer_element(tensor, index));
  }
}

std::string elements_text(const HostTensor& tensor, bool whole) {
  constexpr int64_t kShort = 1000;  // elements; NumPy's own limit
  whole |= tensor.size() <= kShort;
  size_t width = 0;
  if (whole && tensor.shape().size() > 1) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      width = std::max(width, element_text(tensor, i).size());
    }
  }
  std::string text;
  add_elements(tensor, whole, 0, 0, width, text);
  return text;
}

Json host_value_json(const HostValue& value, bool with_elements) {
  auto dims = [](const Shape& shape) {
    std::vector<Json> items;
    for (const int64_t dim : shape) items.push_back(Json::integer(dim));
    return Json::array(std::move(items));
  };
  switch (value.kind) {
    case Kind::kShape:
      return Json::object({{"kind", Json::string("shape")}, {"value", dims(value.shape)}});
    case Kind::kPrim:
      return Json::object({{"kind", Json::string("prim")},
                           {"dtype", Json::string(dtype_name(value.dtype))},
                           {"value", value.dtype == DType::kBool ? Json::boolean(value.integer != 0)
                                                                 : Json::integer(value.integer)}});
    case Kind::kFunction:
      return Json::object(
          {{"kind", Json::string("function")}, {"name", Json::string(value.function)}});
    case Kind::kTuple: {
      std::vector<Json> fields;
      for (const HostValue& field : value.fields) {
        fields.push_back(host_value_json(field, with_elements));
      }
      return Json::object(
          {{"kind", Json::string("tuple")}, {"fields", Json::array(std::move(fields))}});
    }
    case Kind::kTensor:
      break;
  }
  const HostTensor& tensor = value.tensor;
  Json json = Json::object({{"kind", Json::string("tensor")},
                            {"dtype", Json::string(dtype_name(tensor.dtype()))},
                            {"shape", dims(tensor.shape())}});
  if (!with_elements) return json;
  std::vector<Json> elements;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.dtype() == DType::kBool) {
      elements.push_back(Json::boolean(tensor.at_f64(i) != 0));
    } else if (!is_float(tensor.dtype()) && tensor.dtype() != DType::kU64) {
      elements.push_back(Json::integer(integer_element(tensor, i)));
    } else if (const double number = tensor.at_f64(i);
               std::isfinite(number) && tensor.dtype() != DType::kU64) {
      elements.push_back(Json::number(number));
    } else {
      elements.push_back(Json::string(element_text(tensor, i)));
    }
  }
  json.set("values", Json::array(std::move(elements)));
  return json;
}

}  // namespace tapml::app
