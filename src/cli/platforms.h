// The platforms of this machine: the only place that names concrete devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/cache.h"
#include "device/cpu/library/host_library.h"
#include "runtime/local_session.h"
#include "target/target.h"

namespace tapml::cli {

// A session on the target's device. PlatformError for a platform that is not here and for places,
// which this build does not reach. Programs that a driver builds are kept in the cache. `libraries`
// of the user go to the cpu.
std::unique_ptr<runtime::Session> open_session(const target::Target& target,
                                               const CacheOptions& cache = {},
                                               const device::HostLibraries& libraries = {});

struct PlatformStatus {
  std::string platform;
  std::string doc;
  bool here = false;
  DeviceInfo info;     // when here
  std::string reason;  // when not: why, and what to install
};
std::vector<PlatformStatus> list_platforms();

}  // namespace tapml::cli
