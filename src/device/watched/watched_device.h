// A device with watched launches, for a process that only runs kernels under test.
#pragma once

#include <memory>

#include "device/watched/output_watch.h"
#include "runtime/device.h"
#include "runtime/launch_note.h"

namespace tapml::device {

struct WatchOptions {
  // Places memory between protected pages: for devices whose kernels run in this process on
  // host-addressable memory and are done when a launch returns.
  bool guard_memory = false;
  // Filled for a crash handler; null: none. It must outlive the device.
  runtime::LaunchNote* note = nullptr;
  std::shared_ptr<OutputWatch> output;  // null: streams are not watched
};

// Wraps `device` so that launches fail as runtime::misbehavior() if a kernel writes outside of its
// arguments (with guard_memory) or to a standard stream. Asynchronous platforms report it at the
// next wait.
std::shared_ptr<runtime::Device> watch_launches(std::shared_ptr<runtime::Device> device,
                                                WatchOptions options) noexcept;

}  // namespace tapml::device
