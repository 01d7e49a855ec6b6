// Errors in the form of OpenAI's interface.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/json.h"

namespace tapml::server {

struct ApiError {
  int status = 400;  // of HTTP
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {}, code = {};  // empty: null

  Json json() const;  // {"error": {...}}
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

// A UserError is the request's (400); an error of the device or the program is the server's.
ApiError api_error(const Error& error);
// Of a request that a service does not take: too many wait, or the device is lost.
ApiError refused_by_service(bool is_healthy);

}  // namespace tapml::server

namespace tapml {

// For TAPML_TRY and TAPML_ASSIGN of an ApiResult.
inline std::unexpected<server::ApiError> fail(server::ApiError error) {
  return std::unexpected(std::move(error));
}

}  // namespace tapml
