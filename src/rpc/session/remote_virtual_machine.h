// A virtual machine next to a remote device.
#pragma once

#include <map>

#include "rpc/session/argument_cache.h"
#include "rpc/session/client_dispatch.h"
#include "runtime/capture.h"
#include "runtime/timing.h"
#include "runtime/virtual_machine.h"

namespace tapml::rpc {

class RemoteVirtualMachine final : public runtime::VirtualMachine {
 public:
  static Result<std::unique_ptr<runtime::VirtualMachine>> open(
      ClientSession& session, std::shared_ptr<const Executable> executable,
      const runtime::Deadline& deadline) noexcept;
  // `id`: the VM's name on the other side.
  RemoteVirtualMachine(ClientSession& session, std::shared_ptr<const Executable> executable,
                       uint64_t id)
      : session_(session),
        executable_(std::move(executable)),
        sites_(runtime::call_sites_of(*executable_)),
        id_(id) {}
  ~RemoteVirtualMachine() override;

  Result<runtime::Value> call(std::string_view function, std::span<const runtime::Value> args,
                              runtime::Deadline deadline = {}) noexcept override;
  Result<Read> call_and_read(std::string_view function, std::span<const runtime::Value> args,
                             size_t field, runtime::Deadline deadline = {}) noexcept override;
  void set_interrupt(const std::atomic<bool>* flag) noexcept override { interrupt_ = flag; }
  void set_call_limit(int64_t calls) noexcept override { call_limit_ = calls; }
  Status set_capture(const runtime::CapturePlan& plan,
                     runtime::CaptureSink* sink) noexcept override;
  Status set_dispatch(const runtime::DispatchPlan& plan,
                      runtime::Dispatcher* dispatcher) noexcept override;
  Status set_timing(runtime::TimingSink* sink) noexcept override;
  void set_call_watcher(const CallWatcher& watcher) noexcept override { call_watcher_ = watcher; }
  runtime::Session& session() const noexcept override { return session_; }
  const Executable& executable() const noexcept override { return *executable_; }

 private:
  // `read`: as in wire::Call; the bytes that come with the result are the reply's tail.
  Result<runtime::Value> run(std::string_view function, std::span<const runtime::Value> args,
                             uint32_t read, ClientLink::Reply& reply,
                             const runtime::Deadline& deadline) noexcept;
  struct Run;
  // Finds the arguments that changed; an error if one belongs to another session.
  Status check_arguments(Run& run) const;
  void note_writes(const Run& run) const noexcept;
  Result<flatbuffers::Offset<wire::Call>> put_call(flatbuffers::FlatBufferBuilder& builder,
                                                   Run& run) const;
  Status begin_capture(Run& run) const;
  Result<runtime::Value> take_result(const wire::Result& result, Run& run, size_t message_bytes);
  // For a call that no one waits for any more, or whose result is useless.
  void give_up(const Run& run) noexcept;
  Status abandon(const runtime::Deadline& deadline) noexcept;
  Status take_times(const wire::Timed* timed) noexcept;
  // Computes dispatched calls until the answer is of another kind.
  Status resume(DispatchedCalls& calls, ClientLink::Reply& reply,
                const runtime::Deadline& deadline) noexcept;

  ClientSession& session_;
  std::shared_ptr<const Executable> executable_;
  const std::vector<runtime::CallSite> sites_;
  const uint64_t id_;
  const std::atomic<bool>* interrupt_ = nullptr;
  int64_t call_limit_ = 0;
  CallWatcher call_watcher_;
  runtime::CapturePlan plan_;
  runtime::CaptureSink* sink_ = nullptr;
  bool anew_ = false;  // the other side must begin a new capture
  runtime::TimingSink* timing_ = nullptr;
  int64_t ahead_ = 0;  // nanoseconds, of the other side's clock
  runtime::DispatchPlan dispatched_;
  runtime::Dispatcher* dispatcher_ = nullptr;
  // What is known of a function between two of its calls.
  struct Called {
    ArgumentCache cache;        // of the last successful call
    std::vector<bool> written;  // written_parameters()
  };
  // Null if the executable has no such function.
  Called* find_called(std::string_view function);
  std::map<std::string, Called, std::less<>> called_;
  bool suspended_ = false;  // possibly: the other side does not know yet that no one waits
};

}  // namespace tapml::rpc
