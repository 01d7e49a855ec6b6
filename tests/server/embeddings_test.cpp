#include "server/openai/embeddings.h"

#include <gtest/gtest.h>

#include <limits>

namespace tapml::server {
namespace {

TEST(EmbeddingsRequest, TakesTextsAndTokens) {
  const auto one = read_embeddings_request(R"({"input": "a"})");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->inputs.size(), 1u);
  EXPECT_EQ(std::get<std::string>(one->inputs[0]), "a");
  EXPECT_FALSE(one->in_base64);
  const auto more = read_embeddings_request(
      R"({"input": ["a", [1, 2]], "model": "m", "encoding_format": "base64", "dimensions": 8})");
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->model, "m");
  EXPECT_EQ(std::get<std::vector<int32_t>>(more->inputs[1]), (std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(more->in_base64);
  EXPECT_EQ(more->dimensions, 8);
}

TEST(EmbeddingsRequest, RefusesWhatIsWrongAndNamesIt) {
  const auto refused = [](const std::string& body, const std::string& param) {
    const auto request = read_embeddings_request(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().status, 400);
    EXPECT_EQ(request.error().param, param) << body;
  };
  refused("{}", "input");
  refused(R"({"input": []})", "input");
  refused(R"({"input": 1})", "input");
  refused(R"({"input": ["a", 1.5]})", "input");
  refused(R"({"input": [[]]})", "input");
  refused(R"({"input": [-1]})", "input");
  refused(R"({"input": "a", "encoding_format": "int8"})", "encoding_format");
  refused(R"({"input": "a", "dimensions": 0})", "dimensions");
  std::string many = R"({"input": ["a")";
  for (int i = 0; i < 2048; ++i) many += R"(, "a")";
  refused(many + "]}", "input");
  refused("[", "");
}

TEST(Embeddings, AreNumbersOrTheirBytes) {
  const HostTensor vectors =
      HostTensor::from<float>(DType::kF32, {1, 2}, std::vector<float>{1, -2.5});
  const auto numbers = embeddings_json("m", vectors, {}, 3);
  ASSERT_TRUE(numbers);
  const Json& item = numbers->find("data")->items()[0];
  EXPECT_EQ(item.find("embedding")->dump(), "[1.0,-2.5]");
  EXPECT_EQ(numbers->find("usage")->find("prompt_tokens")->as_integer(), 3);
  const auto bytes = embeddings_json("m", vectors, {.in_base64 = true}, 3);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->find("data")->items()[0].find("embedding")->as_string(), "AACAPwAAIMA=");
  const auto wrong = embeddings_json("m", vectors, {.dimensions = 3}, 3);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().param, "dimensions");
  const HostTensor broken = HostTensor::from<float>(
      DType::kF32, {1, 1}, std::vector<float>{std::numeric_limits<float>::infinity()});
  EXPECT_FALSE(embeddings_json("m", broken, {}, 1));
}

}  // namespace
}  // namespace tapml::server
