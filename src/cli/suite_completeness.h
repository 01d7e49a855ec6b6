// Parts that a suite lacks, which commands report first.
#pragma once

#include "cli/command.h"
#include "topdown/suite/suite.h"

namespace tapml::cli {

// A line for an incomplete suite, and one for kernels without a test.
void say_what_is_missing(const topdown::Suite& suite, const Output& output);
// The same as fields of a JSON document: `complete`, `reason`, `untested`.
void set_completeness(Json& json, const topdown::Suite& suite);

}  // namespace tapml::cli
