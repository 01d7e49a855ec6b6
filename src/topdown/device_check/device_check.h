// Checks that a device does what it claims: memory, copies, order, and kernels of every dtype that
// it stores and computes, compiled for it and compared with known values.
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

// Runs all checks and reports each to `done` when it ends. A failed check does not affect the
// others; only a lost session fails all that follow. Kernels of a platform that computes nothing
// run, and their results are not checked.
std::vector<DeviceCheck> check_device(
    runtime::Session& session, const target::Target& target,
    const std::function<void(const DeviceCheck&)>& done = nullptr);

}  // namespace tapml::topdown
