// tapml serve: a model behind OpenAI's interface.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>

#include "app/model.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "cli/chat_options.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/serving.h"
#include "cli/sizes.h"
#include "cli/stop_signal.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "server/http/http_server.h"
#include "server/openai/api.h"

namespace tapml::cli {

namespace {

struct ServeModelOptions {
  ModelOptions model;
  ChatOptions chat;
  std::string listen = "127.0.0.1:8080", name;
  std::string key_file, tls_certificate, tls_key, body = "4MiB";
  std::vector<std::string> origins;
  bool no_tls = false;
  int64_t context = 0, text_seconds = 600, drain_seconds = 10, connections = 512;
  server::ServiceOptions service;
  app::SpeculationOptions speculation;
};

// The keys of a file, one a line, or TAPML_API_KEY; none: no key is needed.
std::vector<std::string> read_keys(const std::string& file) {
  std::vector<std::string> keys;
  if (file.empty()) {
    if (const char* key = std::getenv("TAPML_API_KEY"); key && *key) keys.emplace_back(key);
    return keys;
  }
  std::istringstream lines(unwrap(read_text_file(file, 1 << 20)));
  for (std::string key; std::getline(lines, key);) {
    while (key.ends_with(' ') || key.ends_with('\r')) key.pop_back();
    if (!key.empty() && !key.starts_with('#')) keys.push_back(key);
  }
  if (keys.empty()) throw_user("the file has no key", file, "one key a line", "none");
  return keys;
}

server::HttpOptions http_options(const ServeModelOptions& options, bool has_keys) {
  const rpc::Endpoint endpoint =
      http_endpoint(options.listen, options.tls_certificate, options.tls_key);
  server::HttpOptions http;
  http.host = endpoint.host;
  http.port = endpoint.port;
  http.tls_certificate = options.tls_certificate;
  http.tls_key = options.tls_key;
  http.anywhere = has_keys && (endpoint.tls || options.no_tls);
  http.body_bytes = parse_size(options.body, "--body");
  http.connections = options.connections;
  http.refusal = [](int status, const std::string& problem) {
    return server::ApiError{.status = status, .message = problem}.json().dump();
  };
  return http;
}

// The name of a model for clients: that of its file or folder.
std::string served_name(const ServeModelOptions& options) {
  if (!options.name.empty()) return options.name;
  const std::filesystem::path path = std::filesystem::path(options.model.model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// Waits until `is_done`, for at most `seconds`.
template <typename Done>
void wait_for(int64_t seconds, const Done& is_done) {
  const double until = seconds_now() + static_cast<double>(seconds);
  while (!is_done() && seconds_now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// What generates texts or vectors with a model.
struct Services {
  std::unique_ptr<llm::Engine> engine;
  std::unique_ptr<llm::Embedder> embedder;
  std::unique_ptr<app::SpeculativeBatch> speculative;
  std::unique_ptr<server::TextService> texts;  // use the ones above
  std::unique_ptr<server::EmbeddingService> embeddings;

  int64_t context() const { return engine ? engine->capacity() : embedder->model().context; }
  void stop() const {
    if (texts) texts->stop();
    if (embeddings) embeddings->stop();
  }
};

Services start_services(const ReadyModel& model, const ServeModelOptions& options) {
  Services services;
  if (llm::is_encoder(model.executable->model)) {
    if (options.speculation.is_on()) {
      throw_user("an encoder continues no texts", options.model.model,
                 "a model of texts for --draft and --lookup", "an encoder");
    }
    services.embedder = make_embedder(model);
    services.embeddings =
        std::make_unique<server::EmbeddingService>(*services.embedder, options.service.waiting);
    return services;
  }
  services.engine = make_engine(model, options.context);
  if (services.engine->reads_features()) {
    throw_user("the model reads features, and requests have none", options.model.model,
               "a model of texts", services.engine->model().architecture);
  }
  server::ServiceOptions service = options.service;
  if (options.speculation.is_on()) {
    options.speculation.check(model.executable->model);
    // As ContinuousBatch decides for the model's own cache.
    const int64_t cached = service.batch.cached_tokens > 0 ? service.batch.cached_tokens
                                                           : 2 * services.engine->capacity();
    services.speculative = app::SpeculativeBatch::load(options.speculation, options.model, model,
                                                       cached, service.batch.prompt_piece);
    service.batch.proposer = &services.speculative->proposer();
    service.batch.propose = options.speculation.propose;
  }
  services.texts = unwrap(server::TextService::start(*services.engine, *model.tokenizer, service));
  return services;
}

int run(ServeModelOptions options, const Output& output) {
  refuse_inputs(options.model.inputs, "tapml run takes it for a single text");
  const std::vector<std::string> keys = read_keys(options.key_file);
  const server::HttpOptions http = http_options(options, !keys.empty());
  options.service.text_time = std::chrono::seconds(options.text_seconds);
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("load");
  options.model.watcher = progress.watcher();
  options.model.use = app::ModelUse::kEither;
  std::optional<llm::ChatTemplate> chat_template;
  options.model.with_folder = [&](const std::string& folder) {
    chat_template = options.chat.find(folder);
  };
  const ReadyModel model = make_ready(options.model, {});
  const Services services = start_services(model, options);
  std::unique_ptr<server::HttpServer> web;
  server::ApiOptions api_options;
  api_options.access = {.keys = keys, .origins = options.origins, .is_loopback = !http.anywhere};
  api_options.connections = [&web] { return web ? web->connections() : 0; };
  server::Api api({.texts = services.texts.get(), .embeddings = services.embeddings.get()},
                  {.name = served_name(options),
                   .tokenizer = model.tokenizer.get(),
                   .chat_template = chat_template ? &*chat_template : nullptr,
                   .end_tokens = model.eos,
                   .context = services.context()},
                  std::move(api_options));
  install_stop_handler();
  raise_file_limit();
  web = unwrap(
      server::HttpServer::listen(http, [&api](const server::HttpRequest& request,
                                              const std::shared_ptr<server::Exchange>& exchange) {
        api.handle(request, exchange);
      }));
  progress.end();
  const std::string host = web->host().contains(':') ? "[" + web->host() + "]" : web->host();
  const std::string address = (http.tls_certificate.empty() ? "http://" : "https://") + host + ":" +
                              std::to_string(web->port());
  output.line("serving at " + address);
  output.document(Json::object(
      {{"address", Json::string(address)}, {"model", Json::string(served_name(options))}}));
  std::fflush(stdout);
  if (services.texts && !chat_template) {
    Progress::line_to_stderr("the model has no chat template: only /v1/completions is served");
  }
  while (!stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // Texts that have begun may end; then all others end with an error.
  web->close();
  wait_for(options.drain_seconds, [&] { return web->open_exchanges() == 0; });
  services.stop();
  wait_for(2, [&] { return web->open_exchanges() == 0; });
  web.reset();
  return kDone;
}

void add_limits(CLI::App& command, ServeModelOptions& options) {
  command
      .add_option("--texts", options.service.batch.texts,
                  "Most texts at once (0: 16, or 1 if the model takes one only)")
      ->check(CLI::Range(int64_t{0}, int64_t{4096}))
      ->capture_default_str();
  command
      .add_option("--waiting", options.service.waiting,
                  "Most texts that wait for a place; more are refused (429)")
      ->check(CLI::Range(int64_t{0}, int64_t{1000000}))
      ->capture_default_str();
  command
      .add_option("--context", options.context,
                  "Most tokens of a text, with its prompt (0: the model's context)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  command
      .add_option("--cache-tokens", options.service.batch.cached_tokens,
                  "Tokens that the key-value cache of all texts holds (0: twice --context)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  command
      .add_option("--prompt-piece", options.service.batch.prompt_piece,
                  "Prompt tokens that are read between two tokens of the other texts")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  command
      .add_option("--text-seconds", options.text_seconds,
                  "Longest time of a text; it ends as if by its number of tokens")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
      ->capture_default_str();
  command
      .add_option("--drain-seconds", options.drain_seconds,
                  "Time for texts to end after SIGTERM or Ctrl-C")
      ->check(CLI::Range(int64_t{0}, int64_t{100000}))
      ->capture_default_str();
  command.add_option("--connections", options.connections, "Most connections at once")
      ->check(CLI::Range(int64_t{1}, int64_t{100000}))
      ->capture_default_str();
  command.add_option("--body", options.body, "Largest body of a request")->capture_default_str();
}

}  // namespace

void add_serve(Registration registration) {
  auto* command = registration.app.add_subcommand(
      "serve", "Serve a model over HTTP with OpenAI's interface, and a page to chat");
  command->footer("Example: tapml serve models/demo --listen 127.0.0.1:8080");
  auto options = std::make_shared<ServeModelOptions>();
  add_options(*command, options->model);
  command->add_option("--chat-template", options->chat.template_file,
                      "File of a chat template, in place of the model's (docs/chat.md)");
  command->add_option("--listen", options->listen, "Address to listen at (port 0: a free one)")
      ->capture_default_str();
  command->add_option("--name", options->name, "Name of the model for clients")
      ->default_str("that of its file or folder");
  command->add_option("--api-key-file", options->key_file,
                      "File of keys, one a line, of which a request must have one");
  command
      ->add_option("--allow-origin", options->origins,
                   "Origin whose pages may call the server, or * (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--tls-cert", options->tls_certificate,
                      "Certificate, followed by those up to its root (PEM)");
  command->add_option("--tls-key", options->tls_key, "Private key of the certificate (PEM)");
  command->add_flag("--no-tls", options->no_tls,
                    "Listen beyond this machine without encryption (needs keys)");
  add_limits(*command, *options);
  add_options(*command, options->speculation);
  set_runner(*command, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
