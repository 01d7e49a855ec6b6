// OpenAI's embeddings: vectors of texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "server/openai/api_error.h"
#include "server/openai/request_reading.h"
#include "tensor/host_tensor.h"

namespace tapml::server {

struct EmbeddingsRequest {
  std::string model;           // empty: not given
  std::vector<Prompt> inputs;  // 2048 at most
  std::optional<int64_t> dimensions;
  bool in_base64 = false;  // of the vectors' f32, little endian; otherwise lists of numbers
};

// Errors as read_chat_request().
ApiResult<EmbeddingsRequest> read_embeddings_request(const std::string& body);

// The answer, for vectors f32[texts, d] of texts with `tokens` tokens. An error for a number that
// is not finite, and for other dimensions than the request's.
ApiResult<Json> embeddings_json(const std::string& model, const HostTensor& vectors,
                                const EmbeddingsRequest& request, int64_t tokens);

}  // namespace tapml::server
