#include "rpc/session/limited_device.h"

#include <string>

namespace tapml::rpc {

namespace {

// Owns memory, and returns its bytes to the limit when destroyed.
struct CountedMemory {
  std::shared_ptr<runtime::DeviceMemory> memory;
  std::shared_ptr<std::atomic<int64_t>> used;
  int64_t bytes = 0;
  ~CountedMemory() { used->fetch_sub(bytes); }
};

}  // namespace

Result<std::shared_ptr<runtime::DeviceMemory>> LimitedDevice::allocate(int64_t bytes) noexcept {
  auto counted = std::make_shared<CountedMemory>();
  counted->used = used_;
  int64_t used = used_->load();
  do {
    if (bytes > most_ - used) {
      return fail(platform_error(PlatformFault::kOutOfMemory,
                                 "no memory for " + std::to_string(bytes) +
                                     " bytes: the session has " + std::to_string(used) +
                                     " of the " + std::to_string(most_) + " bytes that it may use",
                                 info().platform));
    }
  } while (!used_->compare_exchange_weak(used, used + bytes));
  counted->bytes = bytes;
  TAPML_ASSIGN(counted->memory, device_->allocate(bytes));
  runtime::DeviceMemory* memory = counted->memory.get();
  return std::shared_ptr<runtime::DeviceMemory>(std::move(counted), memory);
}

}  // namespace tapml::rpc
