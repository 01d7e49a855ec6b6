// The ways to compile one program, which must all give the same results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "pipeline/compile.h"

namespace tapml::testing {

struct Arm {
  std::string text;  // for messages
  std::string target;
  std::string omitted;         // an omitted pass that is not needed for correctness
  bool library_calls = false;  // library routines in place of functions (support/library_calls.h)
  pipeline::ImplementOptions options;
};

// "cpu" with libraries drawn from tapml's own that are installed.
std::string target_with_libraries(RandomStream& rng);

// `platform` unchanged; on cpu also an arm with random choices: an omitted pass, another memory
// plan, bounds that the arguments satisfy, installed libraries. The example library must be present
// in any case.
std::vector<Arm> arms_of(const std::string& platform, const Module& module,
                         const std::vector<interp::Value>& arguments, RandomStream& rng);

}  // namespace tapml::testing
