// Checks values against the program's annotations, and defines symbolic dimensions.
#pragma once

#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

// Ok if `value` has the kind, dtype, rank, dimensions and fields of `check`, one of `function`'s.
// Stores dimensions that define a slot. Else a UserError that names the place (`check.where`), the
// dimension, the expected expression with its value and the sources of its variables, and the found
// value; or the variable that exceeds its bound.
Status check_value(const VmFunction& function, const ValueCheck& check, const Value& value,
                   std::span<int64_t> slots) noexcept;

// The error for a variable in slot `slot` above its maximum.
Error above_bound(const VmFunction& function, int32_t slot, int64_t value, int64_t most);

// The variables that a program reads, with their values and sources.
std::vector<SymbolValue> symbols_of(const VmFunction& function, const ScalarProgram& program,
                                    std::span<const int64_t> slots);

// Whether every tensor in `value` is on `session` and inside its storage.
bool lives_on(const Value& value, const Session& session) noexcept;
// The same as a Status, for messages about `where`.
Status check_home(const Value& value, const Session& session, const std::string& where);

// For messages: "a tensor f32[2, 4]".
std::string describe(const Value& value);

}  // namespace tapml::runtime
