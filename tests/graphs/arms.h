// The ways to compile one program, which must all compute the same.
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
  std::string omitted;         // the pass that is left out, which programs are right without
  bool library_calls = false;  // routines in the place of functions (support/library_calls.h)
  pipeline::ImplementOptions options;
};

// "cpu" with libraries that this machine has, drawn from tapml's own.
std::string target_with_libraries(RandomStream& rng);

// `platform` as it is; on cpu also an arm with choices drawn: a pass left out, memory planned
// otherwise, bounds that the arguments keep, libraries of this machine. The example library must be
// there in any case.
std::vector<Arm> arms_of(const std::string& platform, const Module& module,
                         const std::vector<interp::Value>& arguments, RandomStream& rng);

// What the symbolic variables of main's signature are in a call, by name: those that stand alone in
// a dimension.
std::map<std::string, int64_t> extents_of(const Module& module,
                                          const std::vector<interp::Value>& arguments);

}  // namespace tapml::testing
