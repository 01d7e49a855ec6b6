// What a pass that is called by name takes for granted.
#pragma once

#include "pipeline/compile.h"

namespace tapml::pipeline {

// UserError that names what is missing, and the command, where `module` is not as the pass requires
// it. Each required pass is run, and must change nothing: a text counts by what it is, and not by
// where it comes from.
void check_precondition(const Module& module, const PassInfo& pass);

}  // namespace tapml::pipeline
