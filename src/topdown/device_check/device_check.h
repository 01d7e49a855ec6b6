// Whether a device does what it claims: memory, copies, order, and kernels of every dtype that it
// says it stores and computes, compiled for it and compared with values that are known.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "target/target.h"

namespace tapml::topdown {

struct DeviceCheck {
  std::string name;
  std::string found;  // empty: passed
  bool passed() const { return found.empty(); }
};

// All checks, each told to `done` when it is over. A check that fails leaves the others as they
// are; only a session that is lost fails all that follow. Kernels of a platform that computes
// nothing run, and nothing is expected of them.
std::vector<DeviceCheck> check_device(
    runtime::Session& session, const target::Target& target,
    const std::function<void(const DeviceCheck&)>& done = nullptr);

}  // namespace tapml::topdown
