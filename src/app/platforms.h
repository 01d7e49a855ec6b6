// The platforms of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cache.h"
#include "app/remote.h"
#include "device/cpu/library/host_library.h"
#include "io/json.h"
#include "runtime/local_session.h"
#include "target/target.h"

namespace tapml::app {

// A session on the target's device, here or at its place (app/remote.h). PlatformError for a
// platform that is not there. The target's processor becomes the device's: code is then made for
// it, and refused where the target's options ask for another one. Programs that a driver builds are
// kept in the cache. `libraries` of the user go to the cpu of this machine: UserError with a place.
std::unique_ptr<runtime::Session> open_session(target::Target& target,
                                               const CacheOptions& cache = {},
                                               const device::HostLibraries& libraries = {},
                                               const RemoteOptions& remote = {});

// Whether a session of the target has a process of its own wherever it is opened: what a kernel
// does there, it does to nobody else.
bool has_own_process(const target::Target& target);

// The device that a client asks a server of this machine for. The text comes from outside.
// `under_test`: as of device::OpenOptions.
Result<std::shared_ptr<runtime::Device>> open_served_device(
    const std::string& target, const device::HostLibraries& libraries = {},
    bool under_test = false);

struct PlatformStatus {
  std::string platform;  // or a target, whose device it is
  std::string doc;
  bool here = false;
  DeviceInfo info;     // when here
  std::string reason;  // when not: why, and what to install
};
std::vector<PlatformStatus> list_platforms(
    const target::PlatformTable& table = target::platforms());
// A device that a target names; throws where it is not there (open_session).
PlatformStatus status_of(const std::string& target, const RemoteOptions& remote);
Json platform_json(const PlatformStatus& status);
std::string dtype_list(const std::set<DType>& set);  // "i32 f32"

}  // namespace tapml::app
