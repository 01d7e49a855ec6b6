// Programs that turn out to be wrong once more is known of them.
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::passes {

// For passes that find out shapes and values which the program leaves open: where these contradict
// an annotation, the input was wrong from the start. UserError then; `known` says what is known
// now: "the shapes that are known now".
void refuse_contradictions(const Module& module, const std::string& known);

// The same of tensor programs that are called with other tensors than they take (invariant R6).
void refuse_call_contradictions(const Module& module, const std::string& known);

}  // namespace tapml::passes
