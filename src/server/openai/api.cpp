#include "server/openai/api.h"

#include <chrono>
#include <iomanip>
#include <random>
#include <sstream>

#include "server/openai/chat_page.h"
#include "server/openai/generation.h"

namespace tapml::server {

namespace {

constexpr const char* kJson = "application/json";

int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

ReplyHead new_head(ReplyKind kind, const std::string& model) {
  std::random_device device;
  const uint64_t number = uint64_t{device()} << 32 | device();
  std::ostringstream id;
  id << (kind == ReplyKind::kChat ? "chatcmpl-" : "cmpl-") << std::hex << std::setw(16)
     << std::setfill('0') << number;
  return {.kind = kind, .id = id.str(), .model = model, .created = seconds_since_1970()};
}

bool ends_in_thought(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && text.substr(0, last + 1).ends_with("<think>");
}

ApiResult<std::vector<int32_t>> encoded(Result<std::vector<int32_t>> tokens,
                                        const std::string& param) {
  if (tokens && !tokens->empty()) return *std::move(tokens);
  ApiError error = tokens ? ApiError{.message = "the prompt is empty"} : api_error(tokens.error());
  error.param = param;
  return fail(std::move(error));
}

}  // namespace

Api::Api(TextService& service, ServedModel model, ApiOptions options)
    : service_(service),
      model_(std::move(model)),
      options_(std::move(options)),
      started_(seconds_since_1970()) {}

Json Api::model_json() const {
  return Json::object({{"id", Json::string(model_.name)},
                       {"object", Json::string("model")},
                       {"created", Json::integer(started_)},
                       {"owned_by", Json::string("tapml")},
                       {"context_length", Json::integer(model_.context)}});
}

ApiResult<void> Api::check_model(const std::string& asked) const {
  if (asked.empty() || asked == model_.name) return {};
  return fail(
      ApiError{.status = 404,
               .message = "the model \"" + asked + "\" is not served; \"" + model_.name + "\" is",
               .param = "model",
               .code = "model_not_found"});
}

ApiResult<void> Api::check_length(int64_t prompt) const {
  if (prompt < model_.context) return {};
  return fail(ApiError{.message = "the prompt has " + std::to_string(prompt) +
                                  " tokens, and a text has at most " +
                                  std::to_string(model_.context) + " with its answer",
                       .param = "messages",
                       .code = "context_length_exceeded"});
}

ApiResult<void> Api::chat(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  TAPML_ASSIGN(const ChatRequest asked, read_chat_request(request.body));
  TAPML_TRY(check_model(asked.generation.model));
  if (!model_.chat_template) {
    return fail(ApiError{.message = "the model has no chat template; /v1/completions works, and so "
                                    "does a server with --chat-template",
                         .code = "no_chat_template"});
  }
  const Result<std::string> text = model_.chat_template->render(asked.messages, asked.render);
  if (!text) {
    ApiError error = api_error(text.error());
    error.param = "messages";
    return fail(std::move(error));
  }
  PromptTokens prompt;
  TAPML_ASSIGN(prompt.tokens, encoded(model_.tokenizer->encode(*text, false), "messages"));
  TAPML_TRY(check_length(std::ssize(prompt.tokens)));
  prompt.begins_in_thought = ends_in_thought(*text);
  const auto generation = std::make_shared<Generation>(
      service_, exchange, origin_headers(options_.access, request),
      new_head(ReplyKind::kChat, model_.name), asked.generation, asked.has_tools);
  return generation->start({prompt}, model_.end_tokens, model_.context);
}

ApiResult<void> Api::complete(const HttpRequest& request,
                              const std::shared_ptr<Exchange>& exchange) {
  TAPML_ASSIGN(const CompletionRequest asked, read_completion_request(request.body));
  TAPML_TRY(check_model(asked.generation.model));
  std::vector<PromptTokens> prompts;
  for (const auto& one : asked.prompts) {
    PromptTokens prompt;
    if (const auto* text = std::get_if<std::string>(&one)) {
      TAPML_ASSIGN(prompt.tokens, encoded(model_.tokenizer->encode_prompt(*text), "prompt"));
    } else {
      prompt.tokens = std::get<std::vector<int32_t>>(one);
    }
    TAPML_TRY(check_length(std::ssize(prompt.tokens)));
    prompts.push_back(std::move(prompt));
  }
  const auto generation = std::make_shared<Generation>(
      service_, exchange, origin_headers(options_.access, request),
      new_head(ReplyKind::kCompletion, model_.name), asked.generation, false);
  return generation->start(prompts, model_.end_tokens, model_.context);
}

ApiResult<void> Api::route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const HttpHeaders headers = origin_headers(options_.access, request);
  const std::string& path = request.path;
  if (request.method == "OPTIONS") {
    exchange->respond(204, "text/plain", "", headers);
    return {};
  }
  const bool is_open = path == "/health" || path == "/";
  TAPML_TRY(check_access(options_.access, request, !is_open));
  const bool posts = path == "/v1/chat/completions" || path == "/v1/completions";
  const std::string models = "/v1/models";
  const bool gets =
      is_open || path == "/metrics" || path == models || path.starts_with(models + "/");
  if (!posts && !gets) {
    return fail(ApiError{.status = 404,
                         .message = "there is no " + path +
                                    "; there are /v1/chat/completions, /v1/completions, "
                                    "/v1/models, /health, /metrics",
                         .code = "unknown_url"});
  }
  if (request.method != (posts ? "POST" : "GET") && !(gets && request.method == "HEAD")) {
    return fail(
        ApiError{.status = 405,
                 .message = path + " takes " + (posts ? "POST" : "GET") + ", not " + request.method,
                 .code = "method_not_allowed"});
  }
  if (path == "/v1/chat/completions") return chat(request, exchange);
  if (path == "/v1/completions") return complete(request, exchange);
  if (path == "/health") {
    const bool works = service_.is_healthy();
    exchange->respond(works ? 200 : 503, kJson,
                      works ? R"({"status": "ok"})" : R"({"status": "engine failed"})", headers);
  } else if (path == "/metrics") {
    exchange->respond(200, "text/plain; version=0.0.4; charset=utf-8",
                      metrics_text(service_.metrics(), service_.counts(),
                                   options_.connections ? options_.connections() : 0),
                      headers);
  } else if (path == "/") {
    exchange->respond(200, "text/html; charset=utf-8", chat_page(),
                      {{"Content-Security-Policy", chat_page_policy()}});
  } else if (path == models) {
    exchange->respond(
        200, kJson,
        Json::object({{"object", Json::string("list")}, {"data", Json::array({model_json()})}})
            .dump(),
        headers);
  } else {
    TAPML_TRY(check_model(path.substr(models.size() + 1)));
    exchange->respond(200, kJson, model_json().dump(), headers);
  }
  return {};
}

void Api::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const ApiResult<void> done = route(request, exchange);
  if (done) return;
  const ApiError& error = done.error();
  HttpHeaders headers = origin_headers(options_.access, request);
  if (error.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429) headers.emplace_back("Retry-After", "1");
  exchange->respond(error.status, kJson, error.json().dump(), headers);
}

}  // namespace tapml::server
