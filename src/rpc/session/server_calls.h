// Virtual machines of a server's session, and the calls of their functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rpc/session/served_arguments.h"
#include "rpc/session/server_device.h"
#include "runtime/capture.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::rpc {

class CallService {
 public:
  // Receives a frame and serves its requests.
  using ServeFrame = std::function<Status()>;
  CallService(ServerChannel& channel, DeviceService& device, ServeFrame serve_frame)
      : channel_(channel), device_(device), serve_frame_(std::move(serve_frame)) {}

  Status handle(const wire::OpenVm& request, std::vector<std::byte> bytes) noexcept;
  // Runs until the function returns; `id` becomes the request that its result or error answers,
  // 0: no one waits. A kernel call that the client computes suspends it, and other requests are
  // served until one of them resumes it. Answers on success.
  Status call(uint64_t& id, const wire::Call& request) noexcept;
  // Resumes the suspended call, whose next answer is that of request `id`.
  Status resume(uint64_t id, const wire::Resume& request) noexcept;

  // The names were erased.
  void release_vm(uint64_t id) noexcept;
  void release_buffer(uint64_t id) noexcept;

 private:
  struct ServedCall {
    uint64_t vm = 0;
    uint64_t request = 0;  // answered by the result; 0: no one waits
    std::string function = {};
    ServedArguments arguments = {};
    StorageNames names = {};   // of storages requested or known so far
    bool names_whole = false;  // they include those of all arguments
    uint64_t released = 0;     // buffers that had been released when the call began
    bool suspended = false;
    std::optional<Error> failed = {};  // error of a request while it was suspended
  };
  class Dispatch;
  class Timing;
  class Capture;
  struct CaptureDeleter {
    void operator()(Capture* capture) const noexcept;
  };
  struct ServedVm {
    std::unique_ptr<runtime::LocalVirtualMachine> vm;
    std::unique_ptr<Capture, CaptureDeleter> capture;            // state of the client's capture
    std::unordered_map<std::string, ServedArguments> arguments;  // of its functions' last calls
  };

  Status run(ServedCall& call, const wire::Call& request) noexcept;
  Status take_arguments(ServedCall& call, const wire::Call& request) noexcept;
  static void name_arguments(ServedCall& call);
  Status answer(ServedCall& call, const wire::Call& request, const runtime::Value& result,
                const Dispatch* dispatch) noexcept;
  Result<std::span<const std::byte>> read_result(const runtime::Value& result,
                                                 const std::string& function,
                                                 size_t field) noexcept;
  // Keeps what the next call of the function may omit.
  void remember(ServedVm& served, ServedCall& call) noexcept;
  // Serves requests until one of them resumes the call. Its error is the run's.
  Status serve_suspended(ServedCall& call) noexcept;
  // Observes the current call.
  Status begin_capture(const wire::Capture& request, ServedVm& served) noexcept;

  ServerChannel& channel_;
  DeviceService& device_;
  const ServeFrame serve_frame_;
  std::unordered_map<uint64_t, std::shared_ptr<ServedVm>> vms_;
  ServedCall* call_ = nullptr;  // current
  std::string last_call_;       // name of the function
};

}  // namespace tapml::rpc
