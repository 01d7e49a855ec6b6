// OpenAI's interface over a model that is being served:
//
//   POST /v1/chat/completions    POST /v1/completions    (of a model that continues texts)
//   POST /v1/embeddings                                  (of an encoder)
//   GET /v1/models               GET /v1/models/NAME
//   GET /health                  GET /metrics            GET / (a page to chat)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "llm/chat_template.h"
#include "llm/tokenizer/tokenizer.h"
#include "server/embedding_service.h"
#include "server/http/access.h"
#include "server/http/exchange.h"
#include "server/openai/api_error.h"
#include "server/text_service.h"

namespace tapml::server {

struct ServedModel {
  std::string name;  // for clients
  const Tokenizer* tokenizer = nullptr;
  const llm::ChatTemplate* chat_template = nullptr;  // null: no chats
  std::vector<int32_t> end_tokens;
  int64_t context = 0;  // most tokens of a text
};

// What generates: one of them.
struct ApiServices {
  TextService* texts = nullptr;
  EmbeddingService* embeddings = nullptr;
};

struct ApiOptions {
  AccessRules access;
  std::function<int64_t()> connections;  // for /metrics
};

// Thread-safe. The services and what the model refers to outlive it.
class Api {
 public:
  Api(ApiServices services, ServedModel model, ApiOptions options);

  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);

 private:
  ApiResult<void> route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  ApiResult<void> chat(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  ApiResult<void> complete(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  ApiResult<void> embed(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  // That the model continues texts, or makes vectors of them.
  ApiResult<void> check_kind(bool embeds) const;
  bool is_healthy() const;
  std::string metrics() const;
  ApiResult<void> check_model(const std::string& asked) const;
  ApiResult<void> check_length(int64_t prompt) const;
  Json model_json() const;

  const ApiServices services_;
  const ServedModel model_;
  const ApiOptions options_;
  const int64_t started_;  // seconds since 1970
};

}  // namespace tapml::server
