// tapml fuzz-worker: the process of the programs that a campaign checks.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <thread>

#include "app/standard_streams.h"
#include "cli/command.h"
#include "cli/fuzz_findings.h"
#include "fuzz/campaign/worker.h"

namespace tapml::cli {

void add_fuzz_worker(Registration registration) {
  auto* command = registration.app.add_subcommand("fuzz-worker", "Check programs of a campaign");
  command->group("");  // hidden from help
  command->callback([registration] {
    registration.selected = [] {
      std::signal(SIGINT, SIG_IGN);  // the campaign handles it
      const StandardStreams streams = take_standard_streams();
      // A hanging program does not outlive the campaign.
      std::thread([in = streams.in] {
        pollfd closed{in, 0, 0};
        while (::poll(&closed, 1, -1) <= 0) {
        }
        ::_exit(kDone);
      }).detach();
      fuzz::LineChannel channel(rpc::FileDescriptor(streams.in), rpc::FileDescriptor(streams.out));
      fuzz::serve_worker(channel, fuzz_devices());
      return kDone;
    };
  });
}

}  // namespace tapml::cli
