// Values on the host: arguments given by hand, and results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interp/interpreter.h"
#include "io/json.h"
#include "runtime/value.h"

namespace tapml::app {

struct HostValue {
  enum class Kind : uint8_t { kTensor, kShape, kPrim, kTuple, kFunction };
  Kind kind = Kind::kTensor;
  HostTensor tensor;
  Shape shape;
  DType dtype = DType::kI64;  // of a host scalar, an integer or a truth value
  int64_t integer = 0;        // its value
  std::vector<HostValue> fields;
  std::string function;  // the name of a function of the module

  static HostValue of(HostTensor tensor) {
    HostValue value;
    value.tensor = std::move(tensor);
    return value;
  }
};

// "f32[2, 3]", "shape(2, 3)", "i64 5", "a tuple of 2", "function f".
std::string describe(const HostValue& value);

// Converts for the interpreter and for a VM on `session`, where tensors are uploaded; functions are
// those of the module, or of `executable`. Throw.
interp::Value to_interpreter(const HostValue& value);
runtime::Value to_machine(const HostValue& value, runtime::Session& session,
                          const Executable& executable);
// Converts results. Tensors are rounded to their dtype, or downloaded; of a closure only the name
// is kept.
HostValue from_interpreter(const interp::Value& value);
HostValue from_machine(const runtime::Value& value);

// Calls `visit(path, value)` for the value or, for a tuple, for each of its fields in order,
// recursively: "result", "result.0", "result.1.0".
template <class Visit>
void for_each_leaf(const HostValue& value, const std::string& path, Visit&& visit) {
  if (value.kind != HostValue::Kind::kTuple) return visit(path, value);
  for (size_t i = 0; i < value.fields.size(); ++i) {
    for_each_leaf(value.fields[i], path + "." + std::to_string(i), visit);
  }
}

// The elements in brackets, one row per line; unless `whole`, only the first and last three of each
// dimension of a long tensor.
std::string elements_text(const HostTensor& tensor, bool whole);
// An element as text that parses back to the same number: integers exactly, floats in their
// shortest form.
std::string element_text(const HostTensor& tensor, int64_t index);
// The kind, with dtype, shape and values (nested lists in order; values that JSON cannot represent
// as text: "nan", "inf"), or value, or fields, or name.
Json host_value_json(const HostValue& value, bool with_elements);

}  // namespace tapml::app
