// A device with faulty kernels: they crash, abort, exit, kill others or never end, at the launch
// or, like drivers whose launches return first, at the wait.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <tuple>

#include "device/null/null_device.h"

namespace tapml::testing {

class FaultyDevice final : public runtime::Device {
 public:
  const DeviceInfo& info() const noexcept override { return null_.info(); }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    return null_.allocate(bytes);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob&) noexcept override {
    return std::make_shared<Module>();
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    TAPML_ASSIGN(auto queue, null_.create_queue());
    return std::make_unique<Queue>(std::move(queue));
  }

 private:
  struct Kernel final : runtime::DeviceKernel {
    explicit Kernel(std::string name) : entry(std::move(name)) {}
    std::string entry;
  };
  struct Module final : runtime::DeviceModule {
    Result<std::shared_ptr<runtime::DeviceKernel>> kernel(
        const std::string& entry) noexcept override {
      return std::make_shared<Kernel>(entry);
    }
  };
  class Queue final : public runtime::DeviceQueue {
   public:
    explicit Queue(std::unique_ptr<runtime::DeviceQueue> queue) : queue_(std::move(queue)) {}
    Status write(runtime::DeviceMemory& to, int64_t offset,
                 std::span<const std::byte> bytes) noexcept override {
      return queue_->write(to, offset, bytes);
    }
    Status copy(runtime::DeviceMemory& from, int64_t from_offset, runtime::DeviceMemory& to,
                int64_t to_offset, int64_t size) noexcept override {
      return queue_->copy(from, from_offset, to, to_offset, size);
    }
    Status fill_zero(runtime::DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
      return queue_->fill_zero(to, offset, size);
    }
    Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs&) noexcept override {
      const std::string& entry = static_cast<Kernel&>(kernel).entry;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is sure not to be mapped
      if (entry == "crash") *reinterpret_cast<volatile int*>(unmapped_) = 1;
      if (entry == "abort") std::abort();
      if (entry == "allocate" || entry == "allocate_c") allocate_without_end(entry == "allocate");
      if (entry == "exit") ::_exit(3);
      if (entry == "kill_others") kill_others();
      if (entry == "hang") {
        for (std::atomic<int> round = 0;; ++round) {
        }
      }
      hangs_ |= entry == "hang_later";
      if (entry == "slow") ::usleep(100'000);
      return {};
    }
    Status read(runtime::DeviceMemory& from, int64_t offset,
                std::span<std::byte> bytes) noexcept override {
      return queue_->read(from, offset, bytes);
    }
    Status synchronize() noexcept override {
      while (hangs_) ::pause();
      return queue_->synchronize();
    }
    Result<bool> done() noexcept override { return !hangs_; }
    ~Queue() override { std::ignore = synchronize(); }

   private:
    // With C++, where a refused allocation ends the process, or with C, which uses the null
    // pointer.
    static void allocate_without_end(bool by_new) noexcept {
      constexpr size_t kPiece = 1 << 20;
      for (;;) {
        auto* piece =
            static_cast<volatile char*>(by_new ? ::operator new(kPiece) : std::malloc(kPiece));
        for (size_t i = 0; i < kPiece; i += 4096) piece[i] = 1;
      }
    }
    // Kills the server and all processes of the user, including other sessions. Returns nothing:
    // the survivors show the result.
    static void kill_others() noexcept {
      ::kill(::getppid(), SIGKILL);
      ::kill(-1, SIGKILL);
    }
    bool hangs_ = false;
    std::unique_ptr<runtime::DeviceQueue> queue_;
    volatile uintptr_t unmapped_ = 64;
  };

  device::NullDevice null_;
};

}  // namespace tapml::testing
