// A pass that src/ does not know.
#pragma once

#include "pipeline/instruments.h"

namespace tapml::testing {

// negative(negative(x)) becomes x.
Module remove_double_negation(const Module& module);

// Runs it after simplify_graph.
pipeline::AddedPass double_negation_pass();

}  // namespace tapml::testing
