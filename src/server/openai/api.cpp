#include "server/openai/api.h"

#include <atomic>
#include <chrono>
#include <iomanip>
#include <random>
#include <sstream>

#include "server/openai/chat_page.h"
#include "server/openai/embeddings.h"
#include "server/openai/generation.h"
#include "server/openai/tool_grammar.h"

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

ApiResult<std::vector<int32_t>> encoded(Result<std::vector<int32_t>> tokens,
                                        const std::string& param) {
  if (tokens && !tokens->empty()) return *std::move(tokens);
  ApiError error = tokens ? ApiError{.message = "the prompt is empty"} : api_error(tokens.error());
  error.param = param;
  return fail(std::move(error));
}

}  // namespace

Api::Api(ApiServices services, ServedModel model, ApiOptions options)
    : services_(services),
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

ApiResult<void> Api::check_kind(bool embeds) const {
  if (embeds == (services_.embeddings != nullptr)) return {};
  return fail(ApiError{.status = 404,
                       .message = embeds
                                      ? "the model continues texts and makes no vectors of them; "
                                        "/v1/chat/completions and /v1/completions are served"
                                      : "the model is an encoder; /v1/embeddings is served",
                       .param = "model",
                       .code = "wrong_model_kind"});
}

ApiResult<void> Api::chat(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  TAPML_TRY(check_kind(false));
  TAPML_ASSIGN(ChatRequest asked, read_chat_request(request.body));
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
  prompt.begins_in_thought = llm::ends_in_thought(*text);
  if (asked.requires_call) {
    llm::ChatTemplateOptions without_tools = asked.render;
    without_tools.tools = Json::null();
    const Result<std::string> plain = model_.chat_template->render(asked.messages, without_tools);
    if (plain && *plain == *text) {
      return fail(ApiError{.message = "the model's chat template has no tools",
                           .param = "tool_choice",
                           .code = "no_tools"});
    }
    TAPML_ASSIGN(asked.generation.grammar,
                 tool_grammar(asked, llm::call_form_of(*text), prompt.begins_in_thought));
  }
  const auto generation = std::make_shared<Generation>(
      *services_.texts, exchange, origin_headers(options_.access, request),
      new_head(ReplyKind::kChat, model_.name), asked.generation, asked.has_tools);
  return generation->start({prompt}, model_.end_tokens, model_.context);
}

ApiResult<void> Api::complete(const HttpRequest& request,
                              const std::shared_ptr<Exchange>& exchange) {
  TAPML_TRY(check_kind(false));
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
      *services_.texts, exchange, origin_headers(options_.access, request),
      new_head(ReplyKind::kCompletion, model_.name), asked.generation, false);
  return generation->start(prompts, model_.end_tokens, model_.context);
}

ApiResult<void> Api::embed(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  TAPML_TRY(check_kind(true));
  TAPML_ASSIGN(const EmbeddingsRequest asked, read_embeddings_request(request.body));
  TAPML_TRY(check_model(asked.model));
  EmbeddingRequest texts;
  int64_t tokens = 0;
  for (const Prompt& input : asked.inputs) {
    if (const auto* text = std::get_if<std::string>(&input)) {
      TAPML_ASSIGN(auto encoded_text, encoded(model_.tokenizer->encode_prompt(*text), "input"));
      texts.texts.push_back(std::move(encoded_text));
    } else {
      texts.texts.push_back(std::get<std::vector<int32_t>>(input));
    }
    tokens += std::ssize(texts.texts.back());
  }
  const auto is_gone = std::make_shared<std::atomic<bool>>(false);
  texts.is_wanted = [is_gone] { return !*is_gone; };
  texts.on_end = [exchange, tokens, asked, name = model_.name,
                  headers =
                      origin_headers(options_.access, request)](const Result<HostTensor>& vectors) {
    const auto respond = [&](const ApiError& error) {
      exchange->respond(error.status, kJson, error.json().dump(), headers);
    };
    if (!vectors) return respond(api_error(vectors.error()));
    const auto json = embeddings_json(name, *vectors, asked, tokens);
    if (!json) return respond(json.error());
    exchange->respond(200, kJson, json->dump(), headers);
  };
  exchange->on_gone([is_gone] { *is_gone = true; });
  if (services_.embeddings->submit(std::move(texts))) return {};
  return fail(refused_by_service(services_.embeddings->is_healthy()));
}

bool Api::is_healthy() const {
  return services_.texts ? services_.texts->is_healthy() : services_.embeddings->is_healthy();
}

std::string Api::metrics() const {
  const int64_t connections = options_.connections ? options_.connections() : 0;
  if (!services_.texts) return embedding_metrics_text(services_.embeddings->counts(), connections);
  return metrics_text(services_.texts->metrics(), services_.texts->counts(), connections);
}

ApiResult<void> Api::route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const HttpHeaders headers = origin_headers(options_.access, request);
  const std::string& path = request.path;
  if (request.method == "OPTIONS") {
    exchange->respond(204, "text/plain", "", headers);
    return {};
  }
  const bool is_open = path == "/health" || path == "/";
  if (auto refused = refuse_access(options_.access, request, !is_open)) {
    return fail(
        ApiError{.status = refused->status,
                 .message = std::move(refused->message),
                 .type = refused->status == 401 ? "authentication_error" : "invalid_request_error",
                 .code = std::move(refused->code)});
  }
  const bool posts =
      path == "/v1/chat/completions" || path == "/v1/completions" || path == "/v1/embeddings";
  const std::string models = "/v1/models";
  const bool gets =
      is_open || path == "/metrics" || path == models || path.starts_with(models + "/");
  if (!posts && !gets) {
    return fail(ApiError{.status = 404,
                         .message = "there is no " + path +
                                    "; there are /v1/chat/completions, /v1/completions, "
                                    "/v1/embeddings, /v1/models, /health, /metrics",
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
  if (path == "/v1/embeddings") return embed(request, exchange);
  if (path == "/health") {
    const bool works = is_healthy();
    exchange->respond(works ? 200 : 503, kJson,
                      works ? R"({"status": "ok"})" : R"({"status": "engine failed"})", headers);
  } else if (path == "/metrics") {
    exchange->respond(200, "text/plain; version=0.0.4; charset=utf-8", metrics(), headers);
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
