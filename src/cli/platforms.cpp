#include "cli/platforms.h"

#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "device/opencl/opencl_device.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

std::shared_ptr<runtime::Device> open_device(const target::Target& target,
                                             const CacheOptions& cache,
                                             const device::HostLibraries& libraries = {}) {
  const std::string& platform = target.description.platform;
  if (platform == "cpu") {
    int64_t threads = target.integer_option("threads", 0, 1, 1024);
    return std::make_shared<device::CpuDevice>(static_cast<int>(threads),
                                               codegen::make_jit_loader(), libraries);
  }
  if (platform == "opencl") {
    device::OpenClOptions options;
    options.programs = open_disk_cache(cache);
    options.device = static_cast<int>(target.integer_option("device", -1, 0, 255));
    return unwrap(device::create_opencl_device(options));
  }
  if (platform == "null") return std::make_shared<device::NullDevice>();
  throw_platform(PlatformFault::kAbsent, "target " + platform + " has no device here",
                 "target \"" + target.text + "\"");
}

}  // namespace

std::unique_ptr<runtime::Session> open_session(const target::Target& target,
                                               const CacheOptions& cache,
                                               const device::HostLibraries& libraries) {
  if (!target.place.empty()) {
    throw_platform(PlatformFault::kAbsent, "remote targets are not part of this build",
                   "target \"" + target.text + "\"", "leave out \"@" + target.place + "\"");
  }
  return unwrap(runtime::LocalSession::create(open_device(target, cache, libraries)));
}

std::vector<PlatformStatus> list_platforms() {
  std::vector<PlatformStatus> list;
  for (const target::Description& description : target::descriptions()) {
    PlatformStatus status{description.platform, description.doc, false, {}, ""};
    auto device =
        guard([&] { return open_device(target::parse_target(description.platform), {}); });
    if (device) {
      status.here = true;
      status.info = (*device)->info();
    } else {
      status.reason = device.error().message;
      if (!device.error().hint.empty()) status.reason += "; " + device.error().hint;
    }
    list.push_back(std::move(status));
  }
  return list;
}

}  // namespace tapml::cli
