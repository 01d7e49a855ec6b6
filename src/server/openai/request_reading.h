// What the readers of requests share.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "server/openai/api_error.h"

namespace tapml::server {

inline constexpr const char* kRequestSource = "request";

// 400, about a member of the request.
inline std::unexpected<ApiError> refuse(const std::string& param, const std::string& message,
                                        const std::string& code = "") {
  return std::unexpected(ApiError{.message = message, .param = param, .code = code});
}

// The value, or its error as one about a member.
template <typename T>
ApiResult<T> checked(Result<T> value, const std::string& param) {
  if (value) return *std::move(value);
  ApiError error = api_error(value.error());
  error.param = param;
  return std::unexpected(std::move(error));
}

// A body as JSON, of bounded depth and size.
ApiResult<Json> parse_body(const std::string& body);

// A text, a list of token ids, or a list of these.
using Prompt = std::variant<std::string, std::vector<int32_t>>;
ApiResult<std::vector<Prompt>> read_prompts(const JsonObjectReader& reader,
                                            const std::string& member);

}  // namespace tapml::server
