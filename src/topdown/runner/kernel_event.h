// Events of the kernels that a command works on, for observers.
#pragma once

#include <functional>
#include <string>

namespace tapml::topdown {

struct KernelVerdict;

enum class KernelStage : uint8_t {
  kWaiting,  // the first event of every kernel, in the order in which they are tested
  kTesting,  // its carved tests run
  kHybrid,   // the model runs with it on the target
  kDone,
};

struct KernelEvent {
  const std::string& kernel;
  KernelStage stage = KernelStage::kWaiting;
  // With kDone; a later event replaces it.
  const KernelVerdict* verdict = nullptr;
  std::string outcome;  // "migrated", "mismatch", ...
  bool good = false;
  std::string target;  // with several targets; empty: there is one
};
using KernelWatcher = std::function<void(const KernelEvent& event)>;

}  // namespace tapml::topdown
