// tapml rpc tracker: leases devices that dial out to it.
#include "tracker/tracker.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "app/tokens.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/serving.h"
#include "cli/stop_signal.h"
#include "io/json.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

struct TrackerCommand {
  std::string listen = "127.0.0.1:9190";
  RemoteOptions remote;
  tracker::TrackerOptions tracker;
  bool quiet = false;
};

int serve_tracker(const TrackerCommand& command, const Output& output) {
  tracker::TrackerOptions options = command.tracker;
  options.endpoint = listening_endpoint(command.listen, options.tls_certificate, options.tls_key);
  options.token = Tokens::read(command.remote.token_file).own();
  if (!command.quiet) {
    options.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  raise_file_limit();
  install_stop_handler();
  const auto tracker = unwrap(tracker::Tracker::listen(options));
  const std::string endpoint = tracker->endpoint().text();
  output.line("serving at " + endpoint);
  output.document(Json::object({{"endpoint", Json::string(endpoint)}}));
  std::fflush(stdout);
  if (options.token.empty() && !command.quiet) {
    std::fprintf(stderr, "no token: every user of this machine can register and lease devices\n");
  }
  while (!stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return kDone;
}

}  // namespace

void add_tracker(CLI::App& rpc, const Registration& registration) {
  auto* command = rpc.add_subcommand(
      "tracker", "Lease devices that dial out to here, such as browsers, to clients");
  command->footer("Example: tapml rpc tracker --listen 127.0.0.1:9190");
  auto options = std::make_shared<TrackerCommand>();
  command
      ->add_option("--listen", options->listen,
                   "Address to listen at: host:port (port 0: a free one)")
      ->capture_default_str();
  add_token_option(*command, options->remote);
  command->get_option("--token-file")
      ->description("File with the token that devices and clients must show");
  command->add_option("--tls-cert", options->tracker.tls_certificate,
                      "Certificate, followed by those up to its root (PEM): serves TLS");
  command->add_option("--tls-key", options->tracker.tls_key,
                      "Private key of the certificate (PEM)");
  command->add_flag("--insecure", options->tracker.insecure,
                    "Listen beyond this machine without encryption (needs a token)");
  command
      ->add_option("--allow-origin", options->tracker.origins,
                   "Origin of pages that may connect, such as https://lab.example (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--devices", options->tracker.devices, "Most devices at once")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000}))
      ->capture_default_str();
  command->add_option("--waiting", options->tracker.waiting, "Most clients that wait at once")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000}))
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "Do not print a line for each connection");
  set_runner(*command, registration, options, serve_tracker);
}

}  // namespace tapml::cli
