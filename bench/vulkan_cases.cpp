// What a launch and the memory cost on the Vulkan device, beside OpenCL and a loop of the
// processor, which is the device where it is lavapipe.
#include "cases.h"
#include "ceilings.h"
#include "device/opencl/opencl_device.h"
#include "device/vulkan/vulkan_device.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "relax/annotation.h"

namespace tapml::bench {

namespace {

using relax::Variable;

Result<std::shared_ptr<runtime::Device>> open_platform(const std::string& platform) {
  return platform == "vulkan" ? device::create_vulkan_device() : device::create_opencl_device();
}

// The sum of two vectors on a device, ready to run.
class DeviceSum {
 public:
  DeviceSum(const std::string& platform, int64_t elements)
      : session_(unwrap(runtime::LocalSession::create(unwrap(open_platform(platform))))) {
    Module module;
    build::FunctionBuilder f(module);
    auto vector = relax::tensor_annotation({elements}, DType::kF32);
    Variable x = f.param("x", vector), y = f.param("y", vector);
    module.functions["main"] = f.finish(f.emit_op("add", {x, y}));
    vm_ = unwrap(runtime::VirtualMachine::create(
        *session_, pipeline::compile(module, target::parse_target(platform))));
    HostTensor zeros = HostTensor::zeros(DType::kF32, {elements});
    for (int i = 0; i < 2; ++i) arguments_.emplace_back(unwrap(runtime::upload(*session_, zeros)));
    run(1);
  }

  // Seconds of a call, the wait at the end shared by all.
  double run(int calls) {
    return seconds_of([&] {
             for (int i = 0; i < calls; ++i) unwrap(vm_->call("main", arguments_));
             unwrap(session_->synchronize(runtime::kDefaultStream));
           }) /
           calls;
  }

 private:
  std::shared_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
};

bool is_missing(const std::string& platform, std::string& absent) {
  auto device = open_platform(platform);
  if (!device) absent = device.error().message;
  return !device;
}

// Microseconds of a call of one kernel over 16 elements, `calls` before each wait.
Pair call_time(std::string& absent, int calls, int waits) {
  if (is_missing("vulkan", absent) || is_missing("opencl", absent)) return {};
  auto of = [=](const std::string& platform) {
    auto sum = std::make_shared<DeviceSum>(platform, 16);
    return [=] {
      double seconds = 0;
      for (int i = 0; i < waits; ++i) seconds += sum->run(calls);
      return 1e6 * seconds / waits;
    };
  };
  return {of("vulkan"), of("opencl")};
}
Pair launches(std::string& absent) { return call_time(absent, 1000, 1); }
Pair waits(std::string& absent) { return call_time(absent, 1, 200); }

// GB/s of 96 MiB in three vectors.
Pair vector_sum(std::string& absent, const std::string& platform) {
  if (is_missing(platform, absent)) return {};
  constexpr int64_t kElements = 8 << 20;
  constexpr int64_t kSumBytes = 3 * 4 * kElements;
  auto sum = std::make_shared<DeviceSum>(platform, kElements);
  return against_ceiling([=] { return 1e-9 * kSumBytes / sum->run(4); },
                         [] { return triad_gbps(kSumBytes, cpu_threads()); });
}
Pair vulkan_sum(std::string& absent) { return vector_sum(absent, "vulkan"); }
Pair opencl_sum(std::string& absent) { return vector_sum(absent, "opencl"); }

}  // namespace

std::vector<Case> vulkan_cases() {
  auto call = [](const char* name, Pair (*prepare)(std::string&)) {
    return Case{.name = name,
                .unit = "us",
                .peer = "opencl",
                .bound = Bound::kAtMost,
                .bar = 4,
                .prepare = prepare};
  };
  auto sum = [](const char* name, double bar, Pair (*prepare)(std::string&)) {
    return Case{.name = name, .unit = "GB/s", .peer = "triad", .bar = bar, .prepare = prepare};
  };
  return {call("vulkan/launch", launches), call("vulkan/launch_and_wait", waits),
          sum("vulkan/vector_sum", 0.1, vulkan_sum), sum("opencl/vector_sum", 0.5, opencl_sum)};
}

}  // namespace tapml::bench
