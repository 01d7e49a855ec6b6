// Devices of this machine by their platform's name.
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

// What opening a device may depend on; each platform takes what concerns it.
struct OpenOptions {
  int number = -1;  // among the devices of its drivers; -1: the best one
  int threads = 0;  // of the host that compute; 0: all
  bool validation = false;
  // Opens where what drivers build is kept; null: nowhere.
  std::function<std::shared_ptr<DiskCache>()> open_cache;
  std::shared_ptr<runtime::KernelLoader> loader;  // of machine code
  std::vector<std::shared_ptr<const HostLibrary>> libraries;
  // This process runs kernels under test and nothing else: they are watched, and what they do that
  // no kernel may fails as runtime::misbehavior().
  bool under_test = false;
};

using OpenedDevice = Result<std::shared_ptr<runtime::Device>>;

// UserError for a platform that is not known, kAbsent for one that is not here.
OpenedDevice open_device(const std::string& platform, const OpenOptions& options) noexcept;

// src/device/NAME/open.cpp
#define TAPML_OPEN_PLATFORM(name) OpenedDevice open_##name(const OpenOptions& options) noexcept;
TAPML_KNOWN_PLATFORMS(TAPML_OPEN_PLATFORM)
#undef TAPML_OPEN_PLATFORM

}  // namespace tapml::device
