// Vectors of encoders at operator level, before code generation, against PyTorch's.
#include <gtest/gtest.h>

#include <set>

#include "llm/embedder.h"
#include "models/interpreted_text.h"
#include "models/table.h"
#include "support/expect_error.h"
#include "support/golden_encoders.h"

namespace tapml {
namespace {

using interp::Value;
using models::Pooling;
using models::PoolingConfig;
using testing::golden_encoder;

constexpr PoolingConfig kPoolings[] = {{Pooling::kMean, true},
                                       {Pooling::kMean, false},
                                       {Pooling::kFirstToken, true},
                                       {Pooling::kFirstToken, false}};

HostTensor embed(const testing::GoldenModel& golden, const HostTensor& tokens) {
  std::vector<Value> args = {Value::tensor(op::RefTensor::from(tokens)),
                             Value::tensor(op::RefTensor::from(golden.reference.at("counts")))};
  for (const std::string& name : golden.interface().weights) {
    args.push_back(Value::tensor(op::RefTensor::from(golden.model.weights.at(name))));
  }
  const Value result = interp::call(golden.model.module, "embed", args);
  return result.as_tuple().at(0).as_tensor().to_host();
}

class Encoder : public ::testing::TestWithParam<std::string> {};

TEST_P(Encoder, VectorsOfABatchOfThreeLengths) {
  for (const PoolingConfig& pooling : kPoolings) {
    const testing::GoldenModel golden = golden_encoder(GetParam(), pooling);
    const HostTensor expected = testing::expected_embeddings(golden, pooling);
    const HostTensor found = embed(golden, golden.reference.at("tokens"));
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_LE(testing::largest_difference(found, expected), testing::logit_tolerance(expected));
  }
}

TEST_P(Encoder, WhatFollowsATextHasNoEffect) {
  const testing::GoldenModel golden = golden_encoder(GetParam(), {});
  const HostTensor& tokens = golden.reference.at("tokens");
  HostTensor others = HostTensor::from(DType::kI32, tokens.shape(), tokens.values<int32_t>());
  const auto counts = golden.reference.at("counts").values<int32_t>();
  const auto longest = tokens.shape()[1];
  for (size_t text = 0; text < counts.size(); ++text) {
    for (int64_t i = counts[text]; i < longest; ++i) {
      others.set_f64(static_cast<int64_t>(text) * longest + i, static_cast<double>(i % 7));
    }
  }
  EXPECT_EQ(testing::largest_difference(embed(golden, others), embed(golden, tokens)), 0);
}

// Fields that say sizes, which weights follow, names and tokens.
const std::set<std::string> kNoEncoderSwitches = {"architectures",
                                                  "dtype",
                                                  "hidden_size",
                                                  "intermediate_size",
                                                  "max_position_embeddings",
                                                  "model_type",
                                                  "num_attention_heads",
                                                  "num_hidden_layers",
                                                  "pad_token_id",
                                                  "relative_attention_num_buckets",
                                                  "torch_dtype",
                                                  "type_vocab_size",
                                                  "vocab_size"};
const std::set<std::string> kRefusedOfEncoders = {"is_decoder", "position_embedding_type"};

Json other_encoder_value(const std::string& field, const Json& value) {
  if (value.is_bool()) return Json::boolean(!value.as_bool());
  if (field == "position_embedding_type") return Json::string("relative_key");
  if (value.is_string()) return Json::string(value.as_string() == "silu" ? "gelu" : "silu");
  if (field == "layer_types") {
    std::vector<Json> items(value.items().begin() + 1, value.items().end());
    items.push_back(value.items().front());
    items.front() = Json::string("sliding_attention");
    return Json::array(std::move(items));
  }
  if (field == "rope_parameters") return Json::null();
  if (field == "pad_token_id") return Json::integer(value.as_integer() + 3);
  if (field == "local_attention") return Json::integer(value.as_integer() + 4);
  if (field == "global_attn_every_n_layers") return Json::integer(2);
  return Json::number(value.as_double() < 0.01 ? value.as_double() * 100 : value.as_double() * 10);
}

TEST_P(Encoder, EachSwitchChangesTheVectors) {
  const PoolingConfig pooling{Pooling::kFirstToken, false};
  const testing::GoldenModel golden = golden_encoder(GetParam(), pooling);
  const HostTensor expected = testing::expected_embeddings(golden, pooling);
  const std::string path = testing::golden_path("embeddings/" + GetParam() + "/config.json");
  const Json config = unwrap(parse_json(unwrap(read_text_file(path)), path));
  for (const auto& [field, value] : config.members()) {
    // Of ModernBERT and MPNet it is a name of a token; of RoBERTa it moves the positions.
    const bool moves = field == "pad_token_id" && GetParam().find("roberta") != std::string::npos;
    if (kNoEncoderSwitches.contains(field) && !moves) continue;
    Json changed = config;
    changed.set(field, other_encoder_value(field, value));
    const auto vectors = [&] {
      testing::GoldenModel other;
      other.reference = golden.reference;
      other.model.config = frontend::parse_config(changed.dump(), "config.json");
      other.model.config.pooling = pooling;
      other.model.module = other.model.config.module({.fallback = other.model.config.dtype});
      testing::add_random_weights(other);
      return embed(other, golden.reference.at("tokens"));
    };
    if (kRefusedOfEncoders.contains(field)) {
      testing::expect_user_error(vectors, {field});
      continue;
    }
    EXPECT_GE(testing::largest_difference(vectors(), expected),
              10 * testing::logit_tolerance(expected))
        << field << ": " << value.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Encoder, ::testing::ValuesIn(testing::golden_encoders()),
                         [](const auto& info) { return info.param; });

TEST(Encoders, HaveGoldenVectors) {
  std::set<std::string> seen;
  for (const std::string& name : testing::golden_encoders()) {
    seen.insert(golden_encoder(name, {}).model.config.architecture);
  }
  for (const models::Architecture& one : models::architecture_table()) {
    EXPECT_EQ(seen.contains(one.name), one.read_encoder != nullptr) << one.name;
    EXPECT_NE(one.read_encoder == nullptr, one.read == nullptr) << one.name;
  }
}

TEST(Encoders, ModelInterfaceSaysEmbed) {
  const ModelInterface model = golden_encoder("bert", {}).interface();
  ASSERT_EQ(model.functions.size(), 1u);
  EXPECT_EQ(model_function_text(model.functions[0]),
            "embed(tokens, feature_lengths, weights) -> (embeddings)");
  EXPECT_TRUE(llm::is_encoder(model));
  EXPECT_EQ(model.context, 40);
  EXPECT_EQ(model.weights.front(), "bert.embeddings.word_embeddings.weight");
}

}  // namespace
}  // namespace tapml
