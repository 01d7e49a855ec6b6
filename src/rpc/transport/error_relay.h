// The standard error of a program, shown line by line.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

// Shows each line on this process's standard error (base/host/progress.h), with control characters
// escaped: the program may be on another machine.
class ErrorRelay {
 public:
  // `to_program` receives the end that the program writes to.
  static Result<std::unique_ptr<ErrorRelay>> start(FileDescriptor& to_program) noexcept;
  // Shows what has arrived, and waits for no more: processes that the program has left behind may
  // keep their end open.
  ~ErrorRelay();

 private:
  ErrorRelay(PipePair lines, PipePair stop)
      : lines_(std::move(lines.read)), stop_(std::move(stop)), thread_([this] { run(); }) {}
  void run();
  void show(std::string_view text);

  FileDescriptor lines_;
  PipePair stop_;  // closing its write end stops the thread
  std::string line_;
  std::thread thread_;
};

}  // namespace tapml::rpc
