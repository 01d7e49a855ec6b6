#include "device/inline/inline_queue.h"

#include <cstring>
#include <utility>

namespace tapml::device {

namespace {

using runtime::DeviceMemory;

class InlineQueue final : public runtime::DeviceQueue {
 public:
  explicit InlineQueue(std::unique_ptr<Shares> shares) : shares_(std::move(shares)) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    std::memcpy(to.host_address() + offset, bytes.data(), bytes.size());
    return {};
  }
  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    std::memmove(to.host_address() + to_offset, from.host_address() + from_offset,
                 static_cast<size_t>(size));
    return {};
  }
  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    std::memset(to.host_address() + offset, 0, static_cast<size_t>(size));
    return {};
  }
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    if (args.grid != GridRest{1, 1} || !args.shared.empty()) {
      return fail(internal_error("a launch of work groups on a platform that has none"));
    }
    return static_cast<const InlineKernel&>(kernel).run(args, *shares_);
  }
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    std::memcpy(bytes.data(), from.host_address() + offset, bytes.size());
    return {};
  }
  Status synchronize() noexcept override { return {}; }

 private:
  std::unique_ptr<Shares> shares_;
};

}  // namespace

std::unique_ptr<runtime::DeviceQueue> inline_queue(std::unique_ptr<Shares> shares) {
  return std::make_unique<InlineQueue>(std::move(shares));
}

}  // namespace tapml::device
