// A pass that src/ does not know.
#pragma once

#include "pipeline/instruments.h"

namespace tapml::testing {

// cos(abs(x)) becomes cos(x).
Module cos_of_abs(const Module& module);

// Runs it after simplify_graph.
pipeline::AddedPass cos_of_abs_pass();

}  // namespace tapml::testing
