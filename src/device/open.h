// Opens devices of this machine by platform name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "abi/platforms.h"
#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml {
class DiskCache;
}

namespace tapml::device {

class HostLibrary;

// Options for opening a device; each platform uses those that apply to it.
struct OpenOptions {
  int number = -1;  // index among the driver's devices; -1: the best one
  int threads = 0;  // host threads for compute; 0: all
  bool validation = false;
  // Opens the cache for driver-built code; null: none.
  std::function<std::shared_ptr<DiskCache>()> open_cache;
  std::shared_ptr<runtime::KernelLoader> loader;  // for machine code
  std::vector<std::shared_ptr<const HostLibrary>> libraries;
  // This process only runs kernels under test: they are watched, and forbidden effects fail as
  // runtime::misbehavior().
  bool under_test = false;
};

using OpenedDevice = Result<std::shared_ptr<runtime::Device>>;

// UserError for an unknown platform, kAbsent for one that this machine lacks.
OpenedDevice open_device(const std::string& platform, const OpenOptions& options) noexcept;

// src/device/NAME/open.cpp
#define TAPML_OPEN_PLATFORM(name) OpenedDevice open_##name(const OpenOptions& options) noexcept;
TAPML_KNOWN_PLATFORMS(TAPML_OPEN_PLATFORM)
#undef TAPML_OPEN_PLATFORM

}  // namespace tapml::device
