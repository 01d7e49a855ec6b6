// What a pass changed of a module.
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::pipeline {

struct PassEffect {
  int number = 0;  // of the pass, as in the names of dumps
  std::string pass;
  double seconds = 0;
  int altered = 0, added = 0, removed = 0;  // functions
  bool attributes = false;                  // the module's own differ
  bool executable = false;                  // it made a part of the executable, and no functions
  std::string diff;                         // of the printed modules, unified; empty: not asked for

  int functions() const { return altered + added + removed; }
  bool changed() const { return functions() > 0 || attributes || executable; }
};

// Functions count as altered where their text is another one.
PassEffect pass_effect(const Module& before, const Module& after);

// The difference of the printed modules, function by function; empty where there is none.
std::string module_diff(const Module& before, const Module& after, const std::string& before_name,
                        const std::string& after_name);

// "pass fuse_ops: changed 3 functions: 1 altered, 2 new (0.8 ms)", "pass match: unchanged (0.1
// ms)", "pass generate_code: made a part of the executable (8.0 ms)".
std::string effect_text(const PassEffect& effect);

}  // namespace tapml::pipeline
