// What a suite does not have, which commands say before anything else about it.
#pragma once

#include "cli/command.h"
#include "topdown/suite/suite.h"

namespace tapml::cli {

// A line for a suite that is incomplete, and one for kernels that it has no test of.
void say_what_is_missing(const topdown::Suite& suite, const Output& output);
// The same as fields of a document: `complete`, `reason`, `untested`.
void set_completeness(Json& json, const topdown::Suite& suite);

}  // namespace tapml::cli
