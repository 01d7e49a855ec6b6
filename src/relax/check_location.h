// How messages name the locations where a function is checked at run time and where its symbolic
// variables get their values.
#pragma once

#include <map>
#include <string>

#include "abi/expected_text.h"
#include "relax/expr.h"

namespace tapml::relax {

// Attribute prefix of a function whose first parameter passes captured symbolic variables:
// "source.n" is where n got its value, ["dimension 0 of parameter x of main"], followed by the
// expression there if it is not n alone: ["dimension 0 of parameter x of main", "n + 1"].
inline constexpr const char* kSourcePrefix = "source.";

// "parameter x of main".
std::string parameter_location(const Variable& param, const std::string& function);
// "result of main".
std::string result_location(const std::string& function);

// The binding's name in the program as written.
const std::string& written_name(const Binding& binding);
// The same for a binding of planned memory: without a note, a kernel call is named by the tensor
// that it makes, which the user knows.
const std::string& planned_name(const Binding& binding);
// The note for the bindings that `binding` becomes: its name.
CheckNote written_note(const Binding& binding);
// How messages describe the binding: the compiler's note, else "match_cast y", "result of f" in
// binding y for a call of a function value or packed function, "result of @k" for a tensor program,
// or the binding itself.
CheckNote check_note(const Binding& binding);
// The same as text: "result of f in binding y", "binding y".
std::string binding_location(const Binding& binding);
// The same with the enclosing function: "match_cast y of main".
std::string binding_location(const Binding& binding, const std::string& function);
// Where the binding computes its value, independent of what is checked there: "binding y of main".
std::string operation_location(const Binding& binding, const std::string& function);

// The note for checks before a call that was written in `binding`: "operand b of add", "argument x
// of @add2".
CheckNote operand_note(const std::string& operand, const std::string& op, const Binding& binding);
CheckNote argument_note(const std::string& argument, const std::string& program,
                        const Binding& binding);
// The note for integers of a call: "numbers of elements of reshape".
CheckNote call_note(const std::string& what, const std::string& op, const Binding& binding);

// The source of each symbolic variable that the function's parameters and match_casts (also in
// branches) give a value. A dimension that is the variable itself takes precedence over one solved
// for it, in the order of the run-time checks.
std::map<const tapml::ExprNode*, SymbolSource> symbol_sources(const Function& function);

}  // namespace tapml::relax
