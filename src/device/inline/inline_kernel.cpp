#include "device/inline/inline_kernel.h"

#include <array>
#include <utility>

namespace tapml::device {

namespace {

using runtime::CpuKernel;
using runtime::DeviceKernel;
using runtime::HostCode;

constexpr size_t kMaxBuffers = 64;

class CodeKernel final : public InlineKernel {
 public:
  CodeKernel(CpuKernel function, std::shared_ptr<HostCode> owner)
      : function_(function), owner_(std::move(owner)) {}

  Status run(const runtime::LaunchArgs& args, Shares& shares) const noexcept override {
    if (args.buffers.size() > kMaxBuffers) {
      return fail(platform_error(PlatformFault::kLimit,
                                 std::to_string(args.buffers.size()) + " buffers in a launch"));
    }
    std::array<void*, kMaxBuffers> buffers;
    for (size_t i = 0; i < args.buffers.size(); ++i) {
      buffers[i] = args.buffers[i].memory->host_address() + args.buffers[i].offset;
    }
    shares.run(function_, buffers.data(), args.scalars.data(), args.extent, args.workgroup_threads);
    return {};
  }

 private:
  CpuKernel function_;
  std::shared_ptr<HostCode> owner_;
};

class CodeModule final : public runtime::DeviceModule {
 public:
  explicit CodeModule(std::shared_ptr<HostCode> code) : code_(std::move(code)) {}
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    TAPML_ASSIGN(CpuKernel function, code_->find(entry));
    if (!function) return fail(internal_error("the module has no entry " + entry));
    return std::make_shared<CodeKernel>(function, code_);
  }

 private:
  std::shared_ptr<HostCode> code_;
};

}  // namespace

std::shared_ptr<runtime::DeviceModule> inline_module(std::shared_ptr<HostCode> code) {
  return std::make_shared<CodeModule>(std::move(code));
}

}  // namespace tapml::device
