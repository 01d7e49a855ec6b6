#include "server/openai/api_error.h"

namespace tapml::server {

Json ApiError::json() const {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json::null() : Json::string(text);
  };
  return Json::object({{"error", Json::object({{"message", Json::string(message)},
                                               {"type", Json::string(type)},
                                               {"param", or_null(param)},
                                               {"code", or_null(code)}})}});
}

ApiError api_error(const Error& error) {
  if (error.kind == ErrorKind::kUser) return {.message = error.to_string()};
  const bool is_over = error.fault == PlatformFault::kCancelled;
  return {.status = is_over ? 503 : 500,
          .message = error.to_string(),
          .type = "server_error",
          .code = is_over ? "shutting_down" : "engine_failed"};
}

ApiError refused_by_service(bool is_healthy) {
  return {.status = is_healthy ? 429 : 503,
          .message = is_healthy ? "too many requests wait; try again later"
                                : "the engine has failed; the server must be started anew",
          .type = is_healthy ? "rate_limit_error" : "server_error",
          .code = is_healthy ? "queue_full" : "engine_failed"};
}

}  // namespace tapml::server
