// Whether a value looks as the program says, and the symbolic dimensions that it defines.
#pragma once

#include "runtime/vm.h"

namespace tapml::runtime {

// Ok when `value` has the kind, dtype, rank, dimensions and fields of `check`. Dimensions that
// define a slot are stored there. Else a UserError that names the place (`check.where`), the
// dimension, the expected expression with its value, and what was found.
Status check_value(const ValueCheck& check, const Value& value, std::span<int64_t> slots) noexcept;

// Ok when every tensor in `value` lives on `session` and lies inside its storage.
Status check_home(const Value& value, const Session& session, const std::string& where);

// For messages: "a tensor f32[2, 4]".
std::string describe(const Value& value);

}  // namespace tapml::runtime
