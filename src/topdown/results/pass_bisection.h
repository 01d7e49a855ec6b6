// What a bisection over passes found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/device_info.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

// Settings that make the model wrong when they, and no others, are on, and without any one of which
// that is right.
struct SettingCulprit {
  std::vector<std::string> settings;
  std::vector<std::string> docs;  // what each of them does; may be empty
  ModelCheck check;               // with them alone
  // Where one of them acts on single kernels: on these it has to act for the model to be wrong.
  std::vector<std::string> kernels;
};

// A pass that cannot be left out, before which the program means what it should.
struct PassCulprit {
  std::string pass;
  bool loops = false;         // by the loops of its kernels, else by its operators
  ModelCheck check;           // of the program after it
  std::string before, after;  // the program, as text
};

struct PassBisection {
  std::string source, target;
  DeviceInfo target_info;
  ModelCheck whole;  // the target with everything on
  ModelCheck bare;   // with everything left out that can be; only where `whole` is wrong
  std::vector<SettingCulprit> settings;
  std::optional<PassCulprit> pass;  // only where `bare` is wrong, too
  int64_t runs = 0;                 // of the model on the target
  int64_t evaluations = 0;          // of programs, by the interpreter
  double seconds = 0;

  bool found() const { return !whole.passed; }
  Verdict verdict() const { return found() ? Verdict::kFail : Verdict::kPass; }
};

}  // namespace tapml::topdown
