// A device whose launches are watched: of a process that runs kernels under test and nothing else.
#pragma once

#include <memory>

#include "device/watched/output_watch.h"
#include "runtime/device.h"
#include "runtime/launch_note.h"

namespace tapml::device {

struct WatchOptions {
  // Memory lies between protected pages: for devices whose kernels run in this process on memory
  // that the host addresses, and are done when a launch returns.
  bool guard_memory = false;
  // Kept for a handler of crashes; null: nothing is. It outlives the device.
  runtime::LaunchNote* note = nullptr;
  std::shared_ptr<OutputWatch> output;  // null: streams are not watched
};

// `device` with launches that fail as runtime::misbehavior() where a kernel writes beside its
// arguments (with guard_memory) or to a standard stream. Platforms that work on their own report
// that at the next wait.
std::shared_ptr<runtime::Device> watch_launches(std::shared_ptr<runtime::Device> device,
                                                WatchOptions options) noexcept;

}  // namespace tapml::device
