// How messages name the places where a function is checked at run time and where its symbolic
// variables get their values.
#pragma once

#include <map>
#include <string>

#include "abi/expected_text.h"
#include "relax/expr.h"

namespace tapml::relax {

// Attribute prefix of a function whose first parameter hands it symbolic variables from around it:
// "source.n" is where n got its value, ["dimension 0 of parameter x of main"], and what that place
// says where it is not n alone: ["dimension 0 of parameter x of main", "n + 1"].
inline constexpr const char* kSourcePrefix = "source.";

// "parameter x of main".
std::string parameter_location(const Variable& param, const std::string& function);
// "result of main".
std::string result_location(const std::string& function);

// The binding's name as the program was written.
const std::string& written_name(const Binding& binding);
// The same of a binding of planned memory: where nothing is noted and a kernel is called, a person
// knows the tensor that it makes.
const std::string& planned_name(const Binding& binding);
// What messages know of the bindings that `binding` becomes: its name.
CheckNote written_note(const Binding& binding);
// What a message says of the binding: what the compiler noted, else "match_cast y", "result of f"
// in binding y where a function value or a packed function is called, "result of @k" of a tensor
// program, or the binding itself.
CheckNote check_note(const Binding& binding);
// The same as text: "result of f in binding y", "binding y".
std::string binding_location(const Binding& binding);
// The same with the function that it stands in: "match_cast y of main".
std::string binding_location(const Binding& binding, const std::string& function);
// Where the binding computes its value, whatever is checked there: "binding y of main".
std::string operation_location(const Binding& binding, const std::string& function);

// Of checks in front of a call that was written in `binding`: "operand b of add", "argument x of
// @add2".
CheckNote operand_note(const std::string& operand, const std::string& op, const Binding& binding);
CheckNote argument_note(const std::string& argument, const std::string& program,
                        const Binding& binding);
// Of integers of a call: "numbers of elements of reshape".
CheckNote call_note(const std::string& what, const std::string& op, const Binding& binding);

// By symbolic variable that the function's parameters and match_casts give a value, in branches
// too. Dimensions that are the variable count before those that are solved for it, in the order in
// which run-time checks look at them.
std::map<const tapml::ExprNode*, SymbolSource> symbol_sources(const Function& function);

}  // namespace tapml::relax
