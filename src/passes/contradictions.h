// Reports programs whose annotations contradict what passes find out.
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::passes {

// For passes that find shapes and values which the program leaves open: throws a UserError where
// these contradict an annotation, since the input was wrong from the start. `known` describes the
// new facts: "the shapes that are known now".
void refuse_contradictions(const Module& module, const std::string& known);

// The same for tensor programs called with tensors that do not match their parameters (invariant
// R6).
void refuse_call_contradictions(const Module& module, const std::string& known);

}  // namespace tapml::passes
