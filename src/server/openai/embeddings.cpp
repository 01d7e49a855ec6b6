#include "server/openai/embeddings.h"

#include <algorithm>
#include <cmath>

#include "io/json_reader.h"
#include "llm/tokenizer/base64.h"

namespace tapml::server {

namespace {

constexpr int64_t kMostInputs = 2048;

Json vector_json(std::span<const float> vector, bool in_base64) {
  if (in_base64) {
    const auto bytes = std::as_bytes(vector);
    return Json::string(
        tokenizer::encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  std::vector<Json> numbers;
  for (const float value : vector) numbers.push_back(Json::number(value));
  return Json::array(std::move(numbers));
}

}  // namespace

ApiResult<EmbeddingsRequest> read_embeddings_request(const std::string& body) {
  TAPML_ASSIGN(const Json json, parse_body(body));
  const JsonObjectReader reader(json, kRequestSource);
  EmbeddingsRequest request;
  TAPML_ASSIGN(request.model, checked(reader.string_or("model", ""), "model"));
  TAPML_ASSIGN(request.dimensions,
               checked(reader.optional_int("dimensions", 1, 1 << 20), "dimensions"));
  TAPML_ASSIGN(const std::string format,
               checked(reader.string_or("encoding_format", "float"), "encoding_format"));
  if (format != "float" && format != "base64") {
    return refuse("encoding_format", "the formats are float and base64, not \"" + format + "\"");
  }
  request.in_base64 = format == "base64";
  TAPML_ASSIGN(request.inputs, read_prompts(reader, "input"));
  if (std::ssize(request.inputs) > kMostInputs) {
    return refuse("input",
                  "at most " + std::to_string(kMostInputs) + " texts are read for a request");
  }
  return request;
}

ApiResult<Json> embeddings_json(const std::string& model, const HostTensor& vectors,
                                const EmbeddingsRequest& request, int64_t tokens) {
  const auto count = static_cast<size_t>(vectors.shape()[0]);
  const auto width = static_cast<size_t>(vectors.shape()[1]);
  if (request.dimensions && *request.dimensions != vectors.shape()[1]) {
    return refuse("dimensions", "the model's vectors have " + std::to_string(width) + " numbers",
                  "unsupported_parameter");
  }
  Json data = Json::array();
  for (size_t i = 0; i < count; ++i) {
    const auto vector = vectors.values<float>().subspan(i * width, width);
    if (!std::ranges::all_of(vector, [](float value) { return std::isfinite(value); })) {
      return fail(ApiError{
          .message = "the vector of text " + std::to_string(i) + " has a number that is not finite",
          .param = "input"});
    }
    data.push(Json::object({{"object", Json::string("embedding")},
                            {"index", Json::integer(static_cast<int64_t>(i))},
                            {"embedding", vector_json(vector, request.in_base64)}}));
  }
  return Json::object({{"object", Json::string("list")},
                       {"data", std::move(data)},
                       {"model", Json::string(model)},
                       {"usage", Json::object({{"prompt_tokens", Json::integer(tokens)},
                                               {"total_tokens", Json::integer(tokens)}})}});
}

}  // namespace tapml::server
