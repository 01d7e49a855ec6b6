#include "worker/host_gpu.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/host.h"

namespace tapml::worker {

namespace {

using device::GpuConstant;
using device::GpuFacts;

constexpr uint32_t kPollMilliseconds = 500;

// Kinds of failures, as the host numbers them.
enum class Fault : int32_t { kInternal, kLost, kOutOfMemory, kCompile, kAbsent };

Error gpu_error(int32_t result) {
  std::string text(static_cast<size_t>(-result), '\0');
  host::tapml_host_message(text.data(), static_cast<uint32_t>(text.size()));
  const auto fault = static_cast<Fault>(host::tapml_gpu_fault());
  switch (fault) {
    case Fault::kLost:
      return platform_error(PlatformFault::kLost, text, "webgpu",
                            "a new session can be opened at once");
    case Fault::kOutOfMemory:
      return platform_error(PlatformFault::kOutOfMemory, text, "webgpu");
    case Fault::kAbsent:
      return platform_error(
          PlatformFault::kAbsent, text, "webgpu",
          "use a browser with WebGPU and a GPU that it supports; TAPML_BROWSER names the program "
          "of a browser, TAPML_BROWSER_FLAGS its flags");
    case Fault::kInternal:
    case Fault::kCompile:
      break;
  }
  Error error = internal_error(text, "webgpu");
  if (fault == Fault::kCompile) error.fault = PlatformFault::kCompile;
  return error;
}

Status status_of(int32_t result) { return result < 0 ? fail(gpu_error(result)) : Status{}; }

class HostGpu final : public device::Gpu {
 public:
  explicit HostGpu(std::function<void()> poll) : poll_(std::move(poll)) {}

  Result<GpuFacts> open() noexcept override {
    TAPML_TRY(settle(host::tapml_gpu_open()));
    std::array<char, 512> text;
    const int32_t size = host::tapml_gpu_facts(text.data(), text.size());
    TAPML_TRY(status_of(size));
    std::string_view rest(text.data(), static_cast<size_t>(size));
    auto line = [&] {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view taken = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      return taken;
    };
    auto number = [&] {
      const std::string_view digits = line();
      int64_t value = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return value;
    };
    GpuFacts facts;
    facts.name = line();
    facts.version = line();
    facts.processor = number() != 0;
    facts.buffer_bytes = number();
    facts.binding_bytes = number();
    facts.bindings = number();
    facts.workgroup_bytes = number();
    facts.workgroup_threads = number();
    facts.groups = number();
    return facts;
  }

  Result<uint32_t> create_buffer(int64_t bytes) noexcept override {
    return number(host::tapml_gpu_create_buffer(static_cast<double>(bytes)));
  }
  void destroy_buffer(uint32_t buffer) noexcept override { host::tapml_gpu_destroy_buffer(buffer); }

  Result<uint32_t> create_pipeline(const std::string& name, const std::string& wgsl,
                                   uint32_t buffers,
                                   std::span<const GpuConstant> constants) noexcept override {
    std::vector<uint32_t> pairs;
    for (const GpuConstant& constant : constants) {
      pairs.push_back(constant.number);
      pairs.push_back(constant.value);
    }
    return settle(host::tapml_gpu_create_pipeline(name.data(), static_cast<uint32_t>(name.size()),
                                                  wgsl.data(), static_cast<uint32_t>(wgsl.size()),
                                                  buffers, pairs.data(),
                                                  static_cast<uint32_t>(constants.size())));
  }
  void destroy_pipeline(uint32_t pipeline) noexcept override {
    host::tapml_gpu_destroy_pipeline(pipeline);
  }

  Status write(uint32_t buffer, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return status_of(host::tapml_gpu_write(buffer, static_cast<uint32_t>(offset), bytes.data(),
                                           static_cast<uint32_t>(bytes.size())));
  }
  Status submit(std::span<const uint32_t> commands) noexcept override {
    poll_();
    return status_of(
        host::tapml_gpu_submit(commands.data(), static_cast<uint32_t>(commands.size())));
  }
  Status check() noexcept override { return waited(host::tapml_gpu_check()); }
  Status finish() noexcept override { return waited(host::tapml_gpu_finish()); }
  Status read(uint32_t buffer, int64_t offset, std::span<std::byte> bytes) noexcept override {
    TAPML_TRY(settle(host::tapml_gpu_read(buffer, static_cast<uint32_t>(offset),
                                          static_cast<uint32_t>(bytes.size()))));
    return status_of(host::tapml_gpu_take(bytes.data()));
  }

 private:
  static Result<uint32_t> number(int32_t result) {
    TAPML_TRY(status_of(result));
    return static_cast<uint32_t>(result);
  }
  // Waits for what began.
  Result<uint32_t> settle(int32_t began) {
    TAPML_TRY(status_of(began));
    while (true) {
      const int32_t result = host::tapml_gpu_settle(kPollMilliseconds);
      if (result != 0) return number(result);
      poll_();
    }
  }
  Status waited(int32_t began) {
    TAPML_TRY(settle(began));
    return {};
  }

  const std::function<void()> poll_;
};

}  // namespace

std::shared_ptr<device::Gpu> make_host_gpu(std::function<void()> poll) {
  return std::make_shared<HostGpu>(std::move(poll));
}

}  // namespace tapml::worker
