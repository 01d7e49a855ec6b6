// tapml rpc: serves the devices of this computer, and queries a server's devices.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "app/cache.h"
#include "app/platforms.h"
#include "app/remote.h"
#include "app/standard_streams.h"
#include "app/tokens.h"
#include "base/host/table.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/strings.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/serving.h"
#include "cli/sizes.h"
#include "cli/stop_signal.h"
#include "io/json.h"
#include "ir/exceptions.h"
#include "rpc/session/host/content_folder.h"
#include "rpc/session/host/zstd.h"
#include "rpc/transport/server.h"
#include "rpc/transport/tracked_device.h"
#include "rpc/transport/tracker_link.h"

namespace tapml::cli {

namespace {

constexpr int64_t kLeastProcessMemory = int64_t{64} << 20;

struct ServeOptions {
  std::string listen, tracker, key, memory, process_memory, keep = "4GiB", tls_certificate, tls_key;
  RemoteOptions remote;
  bool stdio = false, insecure = false, quiet = false;
  int64_t sessions = 64, call_seconds = 300, idle_seconds = 600;
};

rpc::ListenOptions listen_options(const ServeOptions& options) {
  rpc::ListenOptions listen;
  listen.tls_certificate = options.tls_certificate;
  listen.tls_key = options.tls_key;
  listen.insecure = options.insecure;
  listen.sessions = options.sessions;
  listen.call = std::chrono::seconds(options.call_seconds);
  rpc::ServerOptions& server = listen.server;
  server.limits.idle = std::chrono::seconds(options.idle_seconds);
  server.token = Tokens::read(options.remote.token_file).own();
  if (!options.memory.empty()) {
    server.limits.memory_bytes = parse_size(options.memory, "--memory");
  }
  if (!options.process_memory.empty()) {
    listen.process_bytes = parse_size(options.process_memory, "--process-memory");
    if (listen.process_bytes < kLeastProcessMemory) {
      throw_user("a session's process cannot work with so little memory", "--process-memory",
                 "at least " + size_text(kLeastProcessMemory), size_text(listen.process_bytes));
    }
  }
  server.open_device = [](const std::string& target) { return open_served_device(target); };
  server.compressor = rpc::make_zstd();
  const int64_t keep = parse_size(options.keep, "--keep");
  if (const std::string folder = content_folder(); keep > 0 && !folder.empty()) {
    server.open_contents = [folder, keep] {
      return rpc::open_content_folder(folder, keep,
                                      [](const std::string& message) { log_warning(message); });
    };
  }
  server.describe = [options] {
    std::vector<Json> platforms;
    for (const PlatformStatus& status : list_platforms())
      platforms.push_back(platform_json(status));
    Json json = Json::object({{"platforms", Json::array(std::move(platforms))}});
    json.set("version", Json::string(kVersion));
    json.set("sessions", Json::integer(options.sessions));
    json.set("call_seconds", Json::integer(options.call_seconds));
    json.set("memory_bytes",
             Json::integer(options.memory.empty() ? 0 : parse_size(options.memory, "--memory")));
    return json.dump();
  };
  if (!options.quiet) {
    server.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  return listen;
}

// Serves at the tracker that it dials out to.
int serve_at_tracker(const ServeOptions& options, const Output& output) {
  rpc::TrackedDevice device;
  device.tracker = tracker_at(options.tracker);
  device.tracker.key = options.key;
  check_device_key(options.key);
  const rpc::ListenOptions listen = listen_options(options);
  device.token = listen.server.token;
  device.trust = trust_of(options.remote, device.token);
  device.trust.secret = !device.token.empty() && !options.insecure;
  device.registered = [&, is_first = true]() mutable {
    if (!std::exchange(is_first, false)) return;
    output.line("serving at " + device.tracker.text());
    output.document(Json::object({{"endpoint", Json::string(device.tracker.text())}}));
    std::fflush(stdout);
  };
  install_stop_handler();
  unwrap(rpc::serve_tracked(device, listen, stop_requested()));
  return kDone;
}

int serve(const ServeOptions& options, const Output& output) {
  const int ways = (options.stdio ? 1 : 0) + (options.listen.empty() ? 0 : 1) +
                   (options.tracker.empty() ? 0 : 1);
  if (ways != 1) {
    throw_user("exactly one of --listen, --stdio and --tracker is needed", "tapml rpc serve",
               "--listen ENDPOINT, --stdio, or --tracker HOST:PORT with --key KEY",
               ways == 0   ? "neither"
               : ways == 2 ? "both of two"
                           : "all three");
  }
  if (!options.tracker.empty()) return serve_at_tracker(options, output);
  if (options.stdio && !(options.tls_certificate + options.tls_key).empty()) {
    throw_user("standard input and output are not encrypted", "--stdio", "no --tls-cert");
  }
  const rpc::ListenOptions listen = listen_options(options);
  if (options.stdio) {
    // Ctrl-C at the client's terminal is for the client; the server ends with its input.
    ::signal(SIGINT, SIG_IGN);
    const StandardStreams streams = take_standard_streams();
    unwrap(rpc::serve_descriptors(streams.in, streams.out, listen, stop_requested()));
    return kDone;
  }
  install_stop_handler();
  auto server = unwrap(rpc::Server::listen(
      listening_endpoint(options.listen, options.tls_certificate, options.tls_key), listen));
  const std::string endpoint = server->endpoint().text();
  output.line("serving at " + endpoint);
  output.document(Json::object({{"endpoint", Json::string(endpoint)}}));
  std::fflush(stdout);
  if (listen.server.token.empty() && server->endpoint().kind == rpc::Endpoint::Kind::kTcp &&
      !options.quiet) {
    std::fprintf(stderr, "no token: every user of this machine can connect\n");
  }
  unwrap(server->run(stop_requested()));
  return kDone;
}

struct StatusOptions {
  std::string endpoint;
  RemoteOptions remote;
};

// Escapes text from a server for this terminal.
std::string plain(const Json* text) {
  if (text == nullptr || text->kind() != JsonKind::kString) return "?";
  return printable_line(text->as_string());
}

int64_t number_of(const Json& json, const std::string& name) {
  const Json* value = json.find(name);
  return value != nullptr && value->kind() == JsonKind::kInteger ? value->as_integer() : 0;
}

int status(const StatusOptions& options, const Output& output) {
  const rpc::Endpoint endpoint = find_endpoint(options.endpoint);
  rpc::ConnectOptions connect;
  connect.token = token_for(endpoint, options.remote);
  connect.interrupted = options.remote.interrupted;
  auto until = handshake_end(options.remote);
  const auto channel = open_channel(endpoint, options.remote, connect.token, until);
  if (endpoint.kind == rpc::Endpoint::Kind::kTracker) until = handshake_end(options.remote);
  connect.handshake = handshake_left(until);
  const std::string text = unwrap(rpc::query_status(*channel, connect));
  const Json json = unwrap(parse_json(text, endpoint.text()));
  output.line("tapml " + plain(json.find("version")) + " at " + endpoint.text());
  const int64_t memory = number_of(json, "memory_bytes");
  output.line("limits: " + std::to_string(number_of(json, "sessions")) + " sessions, " +
              std::to_string(number_of(json, "call_seconds")) + " s a call, " +
              (memory > 0 ? size_text(memory) + " a session" : "memory of the device"));
  if (const Json* platforms = json.find("platforms");
      platforms != nullptr && platforms->kind() == JsonKind::kArray) {
    for (const Json& platform : platforms->items()) {
      const Json* reason = platform.find("reason");
      const Json* processor = platform.find("processor");
      const std::string version = plain(platform.find("version"));
      output.line(wrapped(
          plain(platform.find("platform")) + ": " +
              (reason ? "unavailable - " + plain(reason)
                      : plain(platform.find("name")) + (version.empty() ? "" : ", " + version) +
                            (processor ? ", " + plain(processor) : "")),
          text_width(STDOUT_FILENO), 4));
    }
  }
  output.document(json);
  return kDone;
}

struct TrackerStatusOptions {
  std::string address;
  RemoteOptions remote;
};

int64_t count_of(const Json& json, const std::string& name) {
  const Json* list = json.find(name);
  return list != nullptr && list->is_array() ? std::ssize(list->items()) : 0;
}

void print_key(const Json& key, const Output& output) {
  output.line(plain(key.find("key")) + ": " + std::to_string(count_of(key, "devices")) +
              " devices, " + std::to_string(count_of(key, "waiting")) + " waiting");
  if (const Json* devices = key.find("devices"); devices != nullptr && devices->is_array()) {
    for (const Json& device : devices->items()) {
      const Json* client = device.find("client");
      output.line("  device of " + plain(device.find("peer")) + ": " + plain(device.find("state")) +
                  (client ? " to " + plain(client) : "") + " for " +
                  std::to_string(number_of(device, "seconds")) + " s");
    }
  }
  if (const Json* waiting = key.find("waiting"); waiting != nullptr && waiting->is_array()) {
    for (const Json& client : waiting->items()) {
      output.line("  place " + std::to_string(number_of(client, "place")) + ": " +
                  plain(client.find("peer")) + ", priority " +
                  std::to_string(number_of(client, "priority")) + ", for " +
                  std::to_string(number_of(client, "seconds")) + " s");
    }
  }
}

int tracker_status(const TrackerStatusOptions& options, const Output& output) {
  const char* variable = std::getenv("TAPML_TRACKER");
  const std::string address =
      options.address.empty() && variable != nullptr ? variable : options.address;
  if (address.empty()) {
    throw_user("no tracker is named", "tapml rpc tracker-status",
               "HOST:PORT or tls:HOST:PORT, or TAPML_TRACKER", "neither");
  }
  const rpc::Endpoint tracker = tracker_at(address);
  const std::string token = token_for(tracker, options.remote);
  const auto stream =
      unwrap(rpc::open_stream(tracker, handshake_end(options.remote),
                              trust_of(options.remote, token), options.remote.interrupted));
  const Json json = unwrap(parse_json(
      unwrap(rpc::ask_tracker_status(*stream, tracker, token, options.remote.interrupted)),
      address));
  const Json* keys = json.find("keys");
  if (keys == nullptr || !keys->is_array()) {
    throw_user("the tracker's answer has no keys", address, "a tracker of this release");
  }
  if (keys->items().empty()) output.line("no devices");
  for (const Json& key : keys->items()) print_key(key, output);
  output.document(json);
  return kDone;
}

void add_tracker_status(CLI::App& rpc, const Registration& registration) {
  auto* command = rpc.add_subcommand("tracker-status",
                                     "Show the keys, devices, leases and queues of a tracker");
  command->footer("Example: tapml rpc tracker-status 127.0.0.1:9190");
  auto options = std::make_shared<TrackerStatusOptions>();
  command->add_option("address", options->address, "Tracker: HOST:PORT or tls:HOST:PORT")
      ->default_str("TAPML_TRACKER");
  add_token_option(*command, options->remote);
  command
      ->add_option("--tls-ca", options->remote.tls_ca,
                   "File of the root certificates to trust for a tls: tracker (PEM)")
      ->default_str("TAPML_RPC_CA, or the system's");
  command->add_flag("--insecure", options->remote.insecure,
                    "Send the token to another machine even without encryption");
  set_runner(*command, registration, options, tracker_status);
}

void add_rpc_serve(CLI::App& rpc, const Registration& registration) {
  auto* command = rpc.add_subcommand(
      "serve", "Serve the devices of this machine to other processes and machines");
  command->footer("Example: tapml rpc serve --listen unix:$XDG_RUNTIME_DIR/device.sock");
  auto options = std::make_shared<ServeOptions>();
  command->add_option(
      "--listen", options->listen,
      "Endpoint to listen on: tcp:host:port (port 0: a free one), tls:host:port or unix:path");
  command->add_option("--tracker", options->tracker,
                      "Tracker to dial out to instead: HOST:PORT or tls:HOST:PORT");
  command->add_option("--key", options->key, "Key that clients lease this device by (--tracker)");
  command->add_flag("--stdio", options->stdio,
                    "Serve one session over standard input and output, for pipe:command");
  add_token_option(*command, options->remote);
  command->get_option("--token-file")->description("File with the token that clients must show");
  command
      ->add_option("--tls-ca", options->remote.tls_ca,
                   "File of the root certificates to trust for a tls: tracker (PEM)")
      ->default_str("TAPML_RPC_CA, or the system's");
  command->add_option("--tls-cert", options->tls_certificate,
                      "Certificate for a tls: endpoint, followed by those up to its root (PEM)");
  command->add_option("--tls-key", options->tls_key, "Private key of the certificate (PEM)");
  command->add_flag("--insecure", options->insecure,
                    "Listen beyond this machine without encryption (needs a token), or send the "
                    "token to such a tracker");
  command->add_option("--sessions", options->sessions, "Most sessions at once")
      ->check(CLI::Range(int64_t{1}, int64_t{10000}))
      ->capture_default_str();
  command
      ->add_option("--call-seconds", options->call_seconds,
                   "Longest request before the session's process is killed")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
      ->capture_default_str();
  command
      ->add_option("--idle-seconds", options->idle_seconds,
                   "Longest time without a request before a session is ended")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
      ->capture_default_str();
  command->add_option("--memory", options->memory,
                      "Largest size of all buffers of a session, such as 4GiB");
  command
      ->add_option("--process-memory", options->process_memory,
                   "Largest size of data and private mappings of a session's process")
      ->default_str("the machine's memory");
  command
      ->add_option("--keep", options->keep,
                   "Largest size of weights and modules kept on disk for later sessions (0: none)")
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "Do not print a line for each session");
  set_runner(*command, registration, options, serve);
}

void add_status(CLI::App& rpc, const Registration& registration) {
  auto* command = rpc.add_subcommand("status", "Show the version, limits and devices of a server");
  command->footer("Example: tapml rpc status unix:$XDG_RUNTIME_DIR/device.sock");
  auto options = std::make_shared<StatusOptions>();
  command
      ->add_option("endpoint", options->endpoint,
                   "Endpoint: host:port, tls:host:port, unix:path, pipe:command, "
                   "tracker:host:port/KEY or tracker/KEY")
      ->required();
  add_options(*command, options->remote);
  set_runner(*command, registration, options, status);
}

}  // namespace

void add_rpc(Registration registration, void (*add_tracker)(CLI::App&, const Registration&)) {
  auto* rpc =
      registration.app.add_subcommand("rpc", "Serve devices to other machines, or query a server");
  rpc->require_subcommand(1);
  add_rpc_serve(*rpc, registration);
  add_status(*rpc, registration);
  if (add_tracker != nullptr) add_tracker(*rpc, registration);
  add_tracker_status(*rpc, registration);
}

}  // namespace tapml::cli
