// Kernels under test run in a process of their own, which another program serves: the program that
// tests them once more, as `tapml kernel-worker`, or what else calls serve_kernels().
#pragma once

#include <string>
#include <vector>

#include "app/libraries.h"
#include "app/remote.h"
#include "topdown/runner/sandbox.h"

namespace tapml::app {

struct IsolationOptions {
  bool in_process = false;  // they run in this process instead, which ends when one crashes
  double kernel_seconds = 30;
  // The program that serves, with its arguments; those of the libraries (--library FILE) follow.
  std::vector<std::string> worker = {"/proc/self/exe", "kernel-worker"};
};

// Serves one session to the program that started this one, over standard input and output, until
// either ends. Call it before there are other threads.
void serve_kernels(const LibraryFiles& libraries);

// A platform whose kernels are under test, with its first session open: errors are
// open_session()'s. Keep `session` as long as the platform is used.
struct PlatformUnderTest {
  std::unique_ptr<runtime::Session> session;  // of this process, else null
  topdown::Platform platform;
  DeviceInfo info;  // of its device
};
// What opens such a session for kernels of `target`, each time in a process of its own.
std::function<std::unique_ptr<runtime::Session>()> worker_opener(const target::Target& target,
                                                                 const LibraryFiles& libraries,
                                                                 const RemoteOptions& remote,
                                                                 const IsolationOptions& isolation);

PlatformUnderTest open_under_test(target::Target& target, const LibraryFiles& libraries,
                                  const RemoteOptions& remote, const IsolationOptions& isolation);

}  // namespace tapml::app
