// tapml kernel-worker: the process of kernels under test. Serves one session to the program that
// started it, over standard input and output.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>

#include "app/libraries.h"
#include "app/platforms.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/standard_streams.h"
#include "ir/exceptions.h"
#include "rpc/transport/server.h"

namespace tapml::cli {

namespace {

// Longest request of any kind. The program outside ends kernels that take too long; this ends what
// nobody waits for any more.
constexpr std::chrono::hours kLongestRequest{1};

int serve(const LibraryFiles& libraries) {
  // Ends with the program that started it, however that ends, and not by its Ctrl-C.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) return kDone;
  ::signal(SIGINT, SIG_IGN);
  rpc::ListenOptions listen;
  listen.sessions = 1;
  listen.call = kLongestRequest;
  listen.server.limits.idle = kLongestRequest * 24;
  listen.server.open_device = [&](const std::string& target) {
    return guard([&] { return unwrap(open_served_device(target, libraries.load())); });
  };
  static const std::atomic<bool> kNever = false;
  const StandardStreams streams = take_standard_streams();
  unwrap(rpc::serve_descriptors(streams.in, streams.out, listen, kNever));
  return kDone;
}

}  // namespace

void add_kernel_worker(Registration registration) {
  auto* command = registration.app.add_subcommand("kernel-worker", "Serve kernels under test");
  command->group("");  // not for people
  auto libraries = std::make_shared<LibraryFiles>();
  add_options(*command, *libraries);
  command->callback([libraries, registration] {
    registration.selected = [libraries] { return serve(*libraries); };
  });
}

}  // namespace tapml::cli
