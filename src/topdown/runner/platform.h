// A platform that commands work on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/session.h"
#include "target/target.h"

namespace tapml::topdown {

// A platform with its session.
struct Platform {
  target::Target target;
  runtime::Session* session = nullptr;
  // For kernels under test: opens a session in a process of its own, and another one after each
  // crash; throws CompilerException. Empty: kernels run on `session`, and a crash ends this
  // process.
  std::function<std::unique_ptr<runtime::Session>()> open;
  std::chrono::milliseconds kernel_timeout{30'000};  // with `open`
  // That process runs on a remote endpoint, which reports crashes, so a lost session may be the
  // connection's fault.
  bool remote_target = false;
};

}  // namespace tapml::topdown
