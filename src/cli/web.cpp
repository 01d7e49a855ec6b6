// tapml web: pages that run models in a browser, and make it a device.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/tokens.h"
#include "app/wasm_worker.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/serving.h"
#include "cli/stop_signal.h"
#include "ir/exceptions.h"
#include "llm/package.h"
#include "server/files/static_files.h"
#include "server/http/http_server.h"
#include "tracker/tracker.h"

namespace tapml::cli {

namespace {

struct WebOptions {
  std::string listen = "127.0.0.1:8080", tls_certificate, tls_key, key = "browser";
  std::vector<std::string> packages, origins;
  RemoteOptions remote;
  bool insecure = false, no_tracker = false, quiet = false;
};

// Packages by the names of their folders.
std::map<std::string, std::string> find_packages(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> packages;
  for (const std::string& folder : folders) {
    if (!llm::is_package(folder)) {
      throw_user("the folder is not a package", "--package " + in_quotes(folder),
                 "a folder with package.json", "none",
                 "write one: tapml compile MODEL --target webgpu --package " + folder);
    }
    const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
    const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
    if (name.starts_with('.') || !packages.emplace(name, folder).second) {
      throw_user("packages are served by the names of their folders",
                 "--package " + in_quotes(folder),
                 "a name of its own, without a dot at its beginning", in_quotes(name));
    }
  }
  return packages;
}

// Devices and clients connect to the tracker at the address of the pages; "/device" is a page too.
bool is_for_tracker(const server::HttpRequest& request) {
  return request.path == "/lease" || request.path == "/status" ||
         (request.path == "/device" && !request.upgrade.empty());
}

std::unique_ptr<tracker::Tracker> open_tracker(const WebOptions& options,
                                               const rpc::Endpoint& endpoint,
                                               const std::string& token) {
  check_device_key(options.key);
  tracker::TrackerOptions tracker;
  tracker.endpoint = endpoint;
  tracker.token = token;
  tracker.origins = options.origins;
  if (!options.quiet) {
    tracker.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  return unwrap(tracker::Tracker::open(tracker));
}

int serve_web(const WebOptions& options, const Output& output) {
  const rpc::Endpoint endpoint =
      http_endpoint(options.listen, options.tls_certificate, options.tls_key);
  server::StaticOptions files;
  files.pages = unwrap(wasm_folder());
  files.models = find_packages(options.packages);
  const bool chats = !files.models.empty() && std::filesystem::exists(files.pages + "/chat.html");
  files.home = chats ? "/chat" : "/device";
  const std::string token = options.no_tracker ? "" : Tokens::read(options.remote.token_file).own();
  std::unique_ptr<tracker::Tracker> tracker;
  if (!options.no_tracker) tracker = open_tracker(options, endpoint, token);

  server::HttpOptions http;
  http.host = endpoint.host;
  http.port = endpoint.port;
  http.tls_certificate = options.tls_certificate;
  http.tls_key = options.tls_key;
  // Whoever reaches a tracker can use its devices.
  http.anywhere = (endpoint.tls || options.insecure) && (!tracker || !token.empty());
  http.refusal = [](int, const std::string& problem) { return problem; };
  if (tracker) {
    http.upgrades = is_for_tracker;
    http.upgrade = [&tracker](server::Upgraded connection) {
      tracker->adopt(rpc::FileDescriptor(connection.socket), std::move(connection.first_bytes),
                     std::move(connection.peer));
    };
  }
  files.access = {.keys = {}, .origins = options.origins, .is_loopback = !http.anywhere};
  const server::StaticFiles pages(std::move(files));
  raise_file_limit();
  install_stop_handler();
  auto web = unwrap(
      server::HttpServer::listen(http, [&pages](const server::HttpRequest& request,
                                                const std::shared_ptr<server::Exchange>& exchange) {
        pages.handle(request, exchange);
      }));
  const std::string host = web->host().contains(':') ? "[" + web->host() + "]" : web->host();
  const std::string place = host + ":" + std::to_string(web->port());
  const std::string address = (endpoint.tls ? "https://" : "http://") + place;
  output.line("serving at " + address);
  Json document = Json::object({{"address", Json::string(address)}});
  if (tracker) {
    const std::string page = address + "/device#key=" + options.key;
    const std::string target =
        "webgpu@tracker:" + std::string(endpoint.tls ? "tls:" : "") + place + "/" + options.key;
    if (!options.quiet) {
      std::fprintf(stderr, "a tab with %s is the target %s\n", page.c_str(), target.c_str());
    }
    document.set("page", Json::string(page));
    document.set("target", Json::string(target));
  }
  output.document(document);
  std::fflush(stdout);
  while (!stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  web->close();
  web.reset();  // before the tracker, which it gives connections to
  return kDone;
}

void add_web_serve(CLI::App& web, const Registration& registration) {
  auto* command = web.add_subcommand(
      "serve", "Serve the pages that run models in a browser, and make its tabs devices");
  command->footer("Example: tapml web serve --package demo");
  auto options = std::make_shared<WebOptions>();
  command->add_option("--listen", options->listen, "Address to listen at (port 0: a free one)")
      ->capture_default_str();
  command
      ->add_option("--package", options->packages,
                   "Package of a model for the pages (repeatable): tapml compile --package")
      ->allow_extra_args(false);
  command
      ->add_option("--key", options->key, "Key that clients lease the tabs by, in the printed link")
      ->capture_default_str();
  add_token_option(*command, options->remote);
  command->get_option("--token-file")
      ->description("File with the token that tabs and clients must show");
  command->add_flag("--no-tracker", options->no_tracker, "Serve files only: no tab is a device");
  command
      ->add_option("--allow-origin", options->origins,
                   "Origin whose pages may read the files and connect as devices (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--tls-cert", options->tls_certificate,
                      "Certificate, followed by those up to its root (PEM): serves HTTPS");
  command->add_option("--tls-key", options->tls_key, "Private key of the certificate (PEM)");
  command->add_flag(
      "--insecure", options->insecure,
      "Listen beyond this machine without encryption (browsers offer no WebGPU then)");
  command->add_flag("--quiet", options->quiet, "Do not print a line for each connection");
  set_runner(*command, registration, options, serve_web);
}

}  // namespace

void add_web(Registration registration) {
  auto* web = registration.app.add_subcommand("web", "Models and devices in a browser");
  web->require_subcommand(1);
  add_web_serve(*web, registration);
}

}  // namespace tapml::cli
