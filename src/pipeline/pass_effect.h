// The changes that a pass made to a module.
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::pipeline {

struct PassEffect {
  int number = 0;  // number of the pass, as in the names of dumps
  std::string pass;
  double seconds = 0;
  int altered = 0, added = 0, removed = 0;  // numbers of functions
  bool attributes = false;                  // whether the module's own attributes differ
  bool executable = false;                  // it added to the executable and changed no functions
  std::string diff;  // unified diff of the printed modules; empty: not requested

  int functions() const { return altered + added + removed; }
  bool changed() const { return functions() > 0 || attributes || executable; }
};

// A function counts as altered if its text differs.
PassEffect pass_effect(const Module& before, const Module& after);

// The difference of the printed modules, function by function; empty if they are equal.
std::string module_diff(const Module& before, const Module& after, const std::string& before_name,
                        const std::string& after_name);

// "pass fuse_ops: changed 3 functions: 1 altered, 2 new (0.8 ms)", "pass match: unchanged (0.1
// ms)", "pass generate_code: made a part of the executable (8.0 ms)".
std::string effect_text(const PassEffect& effect);

}  // namespace tapml::pipeline
