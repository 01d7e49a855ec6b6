// Whether a value looks as the program says, and the symbolic dimensions that it defines.
#pragma once

#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

// Ok when `value` has the kind, dtype, rank, dimensions and fields of `check`, one of `function`'s.
// Dimensions that define a slot are stored there. Else a UserError that names the place
// (`check.where`), the dimension, the expected expression with its value and where its variables
// got theirs, and what was found; or the variable that is above its bound.
Status check_value(const VmFunction& function, const ValueCheck& check, const Value& value,
                   std::span<int64_t> slots) noexcept;

// The variable in slot `slot` has a value above the most that it may be.
Error above_bound(const VmFunction& function, int32_t slot, int64_t value, int64_t most);

// The variables that a program reads, with their values and where they got them.
std::vector<SymbolValue> symbols_of(const VmFunction& function, const ScalarProgram& program,
                                    std::span<const int64_t> slots);

// Whether every tensor in `value` lives on `session` and lies inside its storage.
bool lives_on(const Value& value, const Session& session) noexcept;
// The same as a Status, for messages about `where`.
Status check_home(const Value& value, const Session& session, const std::string& where);

// For messages: "a tensor f32[2, 4]".
std::string describe(const Value& value);

}  // namespace tapml::runtime
