// The platforms of this computer.
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

// Opens a session on the target's device, local or at its endpoint (app/remote.h). PlatformError
// for an unavailable platform. The target adopts the device's processor: code is then generated for
// it, and refused if the target's options ask for another one. Programs that a driver builds are
// cached. User `libraries` apply to the local cpu: UserError with an endpoint.
std::unique_ptr<runtime::Session> open_session(target::Target& target,
                                               const CacheOptions& cache = {},
                                               const device::HostLibraries& libraries = {},
                                               const RemoteOptions& remote = {});

// Whether every session of the target has a process of its own, so that a faulty kernel cannot harm
// other processes.
bool has_own_process(const target::Target& target);

// Opens the device that a client asks a server of this computer for. The text is untrusted.
// `under_test`: see device::OpenOptions.
Result<std::shared_ptr<runtime::Device>> open_served_device(
    const std::string& target, const device::HostLibraries& libraries = {},
    bool under_test = false);

struct PlatformStatus {
  std::string platform;  // or a target that names a device
  std::string doc;
  bool available = false;
  DeviceInfo info;     // if available
  std::string reason;  // otherwise: why, and what to install
};
std::vector<PlatformStatus> list_platforms(
    const target::PlatformTable& table = target::platforms());
// The device that a target names; throws if it is unavailable (open_session).
PlatformStatus status_of(const std::string& target, const RemoteOptions& remote);
Json platform_json(const PlatformStatus& status);
std::string dtype_list(const std::set<DType>& set);  // "i32 f32"

}  // namespace tapml::app
