// The result of a bisection over passes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/device_info.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

// A minimal set of settings: with only these on, the model is wrong, and without any one of them,
// it is right.
struct SettingCulprit {
  std::vector<std::string> settings;
  std::vector<std::string> docs;  // what each setting does; may be empty
  ModelCheck check;               // with these settings alone
  // If one of them acts on single kernels: the kernels on which it must act for the model to be
  // wrong.
  std::vector<std::string> kernels;
};

// A pass that cannot be turned off, and before which the program is right.
struct PassCulprit {
  std::string pass;
  bool loops = false;         // evaluated by the loops of its kernels, else by its operators
  ModelCheck check;           // of the program after it
  std::string before, after;  // the program, as text
};

struct PassBisection {
  std::string source, target;
  DeviceInfo target_info;
  ModelCheck whole;  // the target with all settings on
  ModelCheck bare;   // with all settings off that can be; only if `whole` is wrong
  std::vector<SettingCulprit> settings;
  std::optional<PassCulprit> pass;  // only if `bare` is wrong, too
  int64_t runs = 0;                 // of the model on the target
  int64_t evaluations = 0;          // of programs, by the interpreter
  double seconds = 0;

  bool found() const { return !whole.passed; }
  Verdict verdict() const { return found() ? Verdict::kFail : Verdict::kPass; }
};

}  // namespace tapml::topdown
