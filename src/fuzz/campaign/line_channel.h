// JSON documents, one a line, between a campaign and its workers; and the processes of workers.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "io/json.h"
#include "rpc/transport/descriptor.h"

namespace tapml::fuzz {

// For one thread. Errors are PlatformErrors: kTimeout; kLost when the other side has ended.
class LineChannel {
 public:
  LineChannel(rpc::FileDescriptor in, rpc::FileDescriptor out)
      : in_(std::move(in)), out_(std::move(out)) {}
  Status send(const Json& document) noexcept;
  Result<Json> receive(runtime::Deadline deadline = {}) noexcept;

 private:
  rpc::FileDescriptor in_, out_;  // `out_` is invalid if `in_` is a socket
  std::string buffer_;
};

// A program that speaks lines on its standard input and output. Its end kills it.
class WorkerProcess {
 public:
  // PlatformError kAbsent if it cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(std::vector<std::string> command) noexcept;
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;

  LineChannel& channel() { return channel_; }
  // Kills it if it still runs, and tells how it ended: "SIGSEGV", "exit code 3".
  std::string end() noexcept;

 private:
  WorkerProcess(pid_t child, LineChannel channel) : child_(child), channel_(std::move(channel)) {}
  pid_t child_;
  LineChannel channel_;
  std::string ended_;
};

}  // namespace tapml::fuzz
