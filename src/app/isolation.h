// Runs kernels under test in a separate process, served by another program: the testing program
// itself, as `tapml kernel-worker`, or any other that calls serve_kernels().
#pragma once

#include <string>
#include <vector>

#include "app/libraries.h"
#include "app/remote.h"
#include "topdown/runner/sandbox.h"

namespace tapml::app {

struct IsolationOptions {
  bool in_process = false;  // run in this process instead; a crash ends it
  double kernel_seconds = 30;
  // The serving program with its arguments; those for libraries (--library FILE) are appended.
  std::vector<std::string> worker = {"/proc/self/exe", "kernel-worker"};
};

// Serves one session to the parent process, over standard input and output, until either ends. Call
// it before there are other threads.
void serve_kernels(const LibraryFiles& libraries);

// A platform whose kernels are under test, with its first session open; errors are those of
// open_session(). Keep `session` as long as the platform is used.
struct PlatformUnderTest {
  std::unique_ptr<runtime::Session> session;  // in this process, else null
  topdown::Platform platform;
  DeviceInfo info;  // of the session's device
};
// Opens such sessions for kernels of `target`, each in a separate process.
std::function<std::unique_ptr<runtime::Session>()> worker_opener(const target::Target& target,
                                                                 const LibraryFiles& libraries,
                                                                 const RemoteOptions& remote,
                                                                 const IsolationOptions& isolation);

PlatformUnderTest open_under_test(target::Target& target, const LibraryFiles& libraries,
                                  const RemoteOptions& remote, const IsolationOptions& isolation);

}  // namespace tapml::app
