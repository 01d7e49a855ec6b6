// Values that a page passes and receives: JSON, with the bytes of the tensors beside it.
//   {"dtype": "f32", "shape": [2, 3], "at": 0}   a tensor, whose bytes begin at `at`
//   {"dims": [2, 3]}                             a shape
//   {"value": "7"}, in results with "dtype"      a host scalar; a text, since JavaScript's numbers
//                                                hold fewer integers
//   {"fields": [...]}                            a tuple
#pragma once

#include <span>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "io/json.h"
#include "runtime/session.h"
#include "runtime/value.h"

namespace tapml::browser {

// Moves the tensors of a value to the session. `check` is what the program expects, which decides
// the dtype of host scalars (null: i64); `where` names the argument in errors. UserError for
// another form; errors of the session.
Result<runtime::Value> value_of(const Json& json, std::span<const std::byte> bytes,
                                const ValueCheck* check, runtime::Session& session,
                                const std::string& where);

// The same for a tensor.
Result<runtime::Tensor> tensor_of(const Json& json, std::span<const std::byte> bytes,
                                  runtime::Session& session, const std::string& where);

// Appends the tensors' bytes to `bytes` and waits for them. UserError for function values.
Result<Json> json_of(const runtime::Value& value, std::vector<std::byte>& bytes);

}  // namespace tapml::browser
