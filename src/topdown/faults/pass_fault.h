// Injected faults of passes: the output of a pass, made wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/module.h"

namespace tapml::topdown {

// "PASS:wrong-operator" of the command line: after this pass the first sum of two tensors in each
// function of the model is a difference. Returns the name of the pass; nothing if `text` begins
// with no pass's name. UserError for another kind, and for a pass after which no operators are
// left.
std::optional<std::string> parse_pass_fault(const std::string& text);

// An Instruments::rewrite that injects it.
std::function<Module(const std::string& pass, Module module)> wrong_operator_after(
    const std::string& pass);

}  // namespace tapml::topdown
