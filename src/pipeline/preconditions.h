// Preconditions of passes that are called by name.
#pragma once

#include "pipeline/compile.h"

namespace tapml::pipeline {

// Throws a UserError that names the missing pass and the command if `module` does not meet the
// pass's requirements. Runs each required pass, which must change nothing: only the module's
// content matters, not how it was produced.
void check_precondition(const Module& module, const PassInfo& pass);

}  // namespace tapml::pipeline
