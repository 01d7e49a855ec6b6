// Kernels under test run in a process of their own: tapml kernel-worker, which this program starts.
#pragma once

#include "app/cache.h"
#include "app/libraries.h"
#include "app/remote.h"
#include "cli/command.h"
#include "topdown/replay/sandbox.h"

namespace tapml::cli {

// --in-process and --kernel-timeout of the commands that test kernels.
struct IsolationOptions {
  bool in_process = false;
  double kernel_seconds = 30;
  void add_to(CLI::App& command);
};

// A platform whose kernels are under test, with its first session open: errors are
// open_session()'s. Keep `session` as long as the platform is used.
struct PlatformUnderTest {
  std::unique_ptr<runtime::Session> session;  // of this process, else null
  topdown::Platform platform;
};
// What opens such a session for kernels of `target`, each time in a process of its own.
std::function<std::unique_ptr<runtime::Session>()> worker_opener(const target::Target& target,
                                                                 const LibraryFiles& libraries,
                                                                 const RemoteOptions& remote);

PlatformUnderTest open_under_test(target::Target& target, const LibraryFiles& libraries,
                                  const RemoteOptions& remote, const IsolationOptions& isolation);

}  // namespace tapml::cli
