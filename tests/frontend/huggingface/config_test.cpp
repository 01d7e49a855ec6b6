// config.json and generation_config.json: both published forms, and invalid values.
#include "frontend/huggingface/config.h"

#include <gtest/gtest.h>

#include <ostream>

#include "models/architectures/llama.h"
#include "models/architectures/qwen2_moe.h"
#include "support/expect_error.h"

namespace tapml::frontend {
namespace {

using models::LlamaConfig;
using models::RopeConfig;
using testing::expect_user_error;

Json base_config() {
  auto json = parse_json(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "vocab_size": 100, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "torch_dtype": "bfloat16", "eos_token_id": 2
  })",
                         "base");
  return *json;
}

Json without(const Json& json, const std::string& key) {
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& member : json.members()) {
    if (member.first != key) members.push_back(member);
  }
  return Json::object(std::move(members));
}

// `value` is JSON text.
Json with(Json json, const std::string& key, const std::string& value) {
  json.set(key, *parse_json(value, "value"));
  return json;
}

HuggingFaceConfig parse(const Json& json) { return parse_config(json.dump(2), "config.json"); }

LlamaConfig llama(const Json& json) {
  models::ConfigNotes notes;
  return models::read_llama_config(JsonObjectReader(json, "config.json"), notes);
}

models::Qwen2MoeConfig qwen2_moe(const Json& json) {
  models::ConfigNotes notes;
  return models::read_qwen2_moe_config(JsonObjectReader(json, "config.json"), notes);
}

TEST(HuggingFaceConfig, ReadsTheFormOfTransformers4) {
  HuggingFaceConfig config = parse(base_config());
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.dtype, DType::kBF16);
  EXPECT_EQ(config.eos, std::vector<int32_t>{2});
  const LlamaConfig model = llama(base_config());
  EXPECT_EQ(model.vocabulary, 100);
  EXPECT_EQ(model.hidden, 48);
  EXPECT_EQ(model.intermediate, 64);
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 8);
  EXPECT_EQ(model.context, 256);
  EXPECT_EQ(model.norm_epsilon, 1e-5);
  EXPECT_EQ(model.rope.theta, 500000);
  EXPECT_EQ(model.rope.scaling, RopeConfig::Scaling::kNone);
  EXPECT_FALSE(model.tied_embeddings);
}

TEST(HuggingFaceConfig, ReadsTheFormOfTransformers5) {
  Json json = without(without(base_config(), "rope_theta"), "torch_dtype");
  json = with(json, "dtype", "\"float16\"");
  json = with(json, "rope_parameters", R"({"rope_theta": 2e4, "rope_type": "llama3", "factor": 8,
      "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64})");
  HuggingFaceConfig config = parse(json);
  EXPECT_EQ(config.dtype, DType::kF16);
  const RopeConfig rope = llama(json).rope;
  EXPECT_EQ(rope.theta, 2e4);
  EXPECT_EQ(rope.scaling, RopeConfig::Scaling::kLlama3);
  EXPECT_EQ(rope.factor, 8);
  EXPECT_EQ(rope.low_freq_factor, 1);
  EXPECT_EQ(rope.high_freq_factor, 4);
  EXPECT_EQ(rope.original_context, 64);
}

TEST(HuggingFaceConfig, ReadsRopeScaling) {
  Json linear = with(base_config(), "rope_scaling", R"({"type": "linear", "factor": 2.5})");
  EXPECT_EQ(llama(linear).rope.scaling, RopeConfig::Scaling::kLinear);
  EXPECT_EQ(llama(linear).rope.factor, 2.5);
  EXPECT_EQ(llama(linear).rope.theta, 500000);
  Json none = with(base_config(), "rope_scaling", "null");
  EXPECT_EQ(llama(none).rope.scaling, RopeConfig::Scaling::kNone);
  Json plain = with(base_config(), "rope_scaling", R"({"rope_type": "default"})");
  EXPECT_EQ(llama(plain).rope.scaling, RopeConfig::Scaling::kNone);
}

TEST(HuggingFaceConfig, DefaultsOfFieldsThatMayBeAbsent) {
  Json json = base_config();
  for (const char* key : {"num_key_value_heads", "rope_theta", "torch_dtype", "hidden_act",
                          "eos_token_id", "model_type"}) {
    json = without(json, key);
  }
  HuggingFaceConfig config = parse(json);
  const LlamaConfig model = llama(json);
  EXPECT_EQ(model.kv_heads, 6);
  EXPECT_EQ(model.rope.theta, 10000);
  EXPECT_EQ(config.dtype, DType::kF32);
  EXPECT_EQ(config.eos, std::vector<int32_t>{2});
  // The kind of model instead of the class.
  EXPECT_EQ(parse(without(base_config(), "architectures")).architecture, "llama");
  // Heads with a width other than hidden_size / num_attention_heads.
  EXPECT_EQ(llama(with(base_config(), "head_dim", "32")).head_dim, 32);
}

TEST(HuggingFaceConfig, Biases) {
  EXPECT_FALSE(llama(base_config()).qkv_bias);
  EXPECT_FALSE(llama(base_config()).mlp_bias);
  LlamaConfig attention = llama(with(base_config(), "attention_bias", "true"));
  EXPECT_TRUE(attention.qkv_bias);
  EXPECT_TRUE(attention.output_bias);
  EXPECT_FALSE(attention.mlp_bias);
  LlamaConfig mlp = llama(with(base_config(), "mlp_bias", "true"));
  EXPECT_FALSE(mlp.qkv_bias);
  EXPECT_TRUE(mlp.mlp_bias);
  EXPECT_FALSE(llama(with(base_config(), "mlp_bias", "null")).mlp_bias);
}

TEST(HuggingFaceConfig, HeadsOfTheirOwnWidth) {
  // The hidden size is then independent of the heads.
  Json json = with(with(base_config(), "head_dim", "10"), "hidden_size", "47");
  EXPECT_EQ(llama(json).head_dim, 10);
  EXPECT_EQ(llama(json).hidden, 47);
  expect_user_error([&] { parse(with(json, "head_dim", "null")); },
                    {"hidden_size", "is not a multiple of \"num_attention_heads\""});
}

TEST(HuggingFaceConfig, Eos) {
  auto eos = [](const char* value) {
    return parse(with(base_config(), "eos_token_id", value)).eos;
  };
  EXPECT_EQ(eos("null"), std::vector<int32_t>{});
  EXPECT_EQ(eos("7"), std::vector<int32_t>{7});
  EXPECT_EQ(eos("[7, 9]"), (std::vector<int32_t>{7, 9}));
  EXPECT_EQ(eos("[]"), std::vector<int32_t>{});
  for (const char* bad : {"\"7\"", "7.5", "-1", "[1, -1]", "[1.5]", "{}", "4294967296", "true"}) {
    expect_user_error([&] { eos(bad); }, {"eos_token_id", "config.json"});
  }
}

TEST(HuggingFaceConfig, GenerationEos) {
  auto eos = [](const char* text) { return parse_generation_eos(text, "generation_config.json"); };
  EXPECT_EQ(eos(R"({"eos_token_id": [1, 2]})"), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(eos(R"({"eos_token_id": 3})"), std::vector<int32_t>{3});
  EXPECT_EQ(eos(R"({"eos_token_id": null})"), std::vector<int32_t>{});
  EXPECT_EQ(eos(R"({"do_sample": false})"), std::nullopt);
  expect_user_error([&] { eos(R"({"eos_token_id": "x"})"); },
                    {"generation_config.json", "eos_token_id"});
  expect_user_error([&] { eos("[]"); }, {"generation_config.json", "object"});
}

// A field and an invalid value.
struct BadField {
  const char* key;
  const char* value;
};

void PrintTo(const BadField& bad, std::ostream* out) { *out << bad.key << ": " << bad.value; }

class BadConfigField : public ::testing::TestWithParam<BadField> {};

TEST_P(BadConfigField, NamesFieldPositionAndFault) {
  const BadField& bad = GetParam();
  expect_user_error([&] { parse(with(base_config(), bad.key, bad.value)); },
                    {bad.key, "config.json:"});
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadConfigField,
    ::testing::Values(
        // zero, negative, huge, fractional, of another type, null
        BadField{"vocab_size", "0"}, BadField{"vocab_size", "-1"},
        BadField{"vocab_size", "1000000000000000000000000"}, BadField{"vocab_size", "100.0"},
        BadField{"vocab_size", "\"100\""}, BadField{"vocab_size", "null"},
        BadField{"hidden_size", "0"}, BadField{"hidden_size", "47"},
        BadField{"hidden_size", "9223372036854775807"}, BadField{"hidden_size", "[48]"},
        BadField{"intermediate_size", "0"}, BadField{"intermediate_size", "1e9"},
        BadField{"num_hidden_layers", "0"}, BadField{"num_hidden_layers", "1000000"},
        BadField{"num_hidden_layers", "true"}, BadField{"num_attention_heads", "0"},
        BadField{"num_attention_heads", "5"}, BadField{"num_key_value_heads", "0"},
        BadField{"num_key_value_heads", "7"}, BadField{"num_attention_heads", "-6"},
        BadField{"head_dim", "7"}, BadField{"head_dim", "0"}, BadField{"head_dim", "8.5"},
        BadField{"max_position_embeddings", "0"}, BadField{"max_position_embeddings", "{}"},
        BadField{"rms_norm_eps", "0"}, BadField{"rms_norm_eps", "-1e-5"},
        BadField{"rms_norm_eps", "\"1e-5\""}, BadField{"rope_theta", "0"},
        BadField{"rope_theta", "1e300"}, BadField{"tie_word_embeddings", "1"},
        BadField{"attention_bias", "1"}, BadField{"attention_bias", "\"no\""},
        BadField{"mlp_bias", "0"}, BadField{"mlp_bias", "[true]"}, BadField{"head_dim", "-8"},
        BadField{"head_dim", "16385"}, BadField{"head_dim", "\"8\""},
        BadField{"rope_scaling", "[]"}, BadField{"rope_parameters", "3"},
        BadField{"partial_rotary_factor", "0.5"}, BadField{"torch_dtype", "16"},
        BadField{"quantization_config", "{}"}, BadField{"architectures", "[]"},
        BadField{"architectures", "\"LlamaForCausalLM\""}, BadField{"architectures", "[3]"}));

Json moe_config() {
  Json json = with(base_config(), "architectures", "[\"Qwen2MoeForCausalLM\"]");
  json = with(json, "model_type", "\"qwen2_moe\"");
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"num_experts", "6"},
                                          {"num_experts_per_tok", "2"},
                                          {"moe_intermediate_size", "20"},
                                          {"shared_expert_intermediate_size", "30"},
                                          {"mlp_only_layers", "[1]"}}) {
    json = with(json, key, value);
  }
  return json;
}

TEST(HuggingFaceConfig, ReadsQwen2Moe) {
  HuggingFaceConfig config = parse(moe_config());
  EXPECT_EQ(config.architecture, "qwen2_moe");
  models::Qwen2MoeConfig model = qwen2_moe(moe_config());
  EXPECT_EQ(model.experts, 6);
  EXPECT_EQ(model.experts_per_token, 2);
  EXPECT_EQ(model.expert_intermediate, 20);
  EXPECT_EQ(model.shared_intermediate, 30);
  EXPECT_EQ(model.intermediate, 64);
  EXPECT_TRUE(model.qkv_bias);
  EXPECT_FALSE(model.output_bias);
  EXPECT_FALSE(model.renormalize);
  EXPECT_TRUE(model.sparse.at(0));
  EXPECT_FALSE(model.sparse.at(1));

  Json json = with(with(moe_config(), "decoder_sparse_step", "2"), "mlp_only_layers", "[]");
  json = with(with(json, "norm_topk_prob", "true"), "qkv_bias", "false");
  model = qwen2_moe(json);
  EXPECT_FALSE(model.sparse.at(0));
  EXPECT_TRUE(model.sparse.at(1));
  EXPECT_TRUE(model.renormalize);
  EXPECT_FALSE(model.qkv_bias);

  // Without experts no other field is required.
  json = with(without(moe_config(), "moe_intermediate_size"), "num_experts", "0");
  EXPECT_FALSE(qwen2_moe(json).sparse.at(0));
}

TEST(HuggingFaceConfig, FieldsOfQwen2MoeThatAreRefused) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"num_experts", "-1"},
      {"num_experts_per_tok", "7"},
      {"num_experts_per_tok", "0"},
      {"moe_intermediate_size", "0"},
      {"shared_expert_intermediate_size", "\"x\""},
      {"decoder_sparse_step", "0"},
      {"mlp_only_layers", "[-1]"},
      {"norm_topk_prob", "1"}};
  for (const auto& field : refused) {
    expect_user_error([&] { parse(with(moe_config(), field.first, field.second)); },
                      {field.first, "config.json:"});
  }
  Json many = with(with(moe_config(), "num_hidden_layers", "4096"), "num_experts", "4096");
  expect_user_error([&] { parse(many); }, {"num_experts", "too many for 4096 layers"});
}

TEST(HuggingFaceConfig, AbsentFieldsTakeTheirPublishedDefaults) {
  const HuggingFaceConfig config = parse_config(R"({"model_type": "llama"})", "config.json");
  const LlamaConfig model = llama(unwrap(parse_json(R"({"model_type": "llama"})", "")));
  EXPECT_EQ(model.vocabulary, 32000);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.intermediate, 11008);
  EXPECT_EQ(model.layers, 32);
  EXPECT_EQ(model.heads, 32);
  EXPECT_EQ(model.kv_heads, 32);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_EQ(model.context, 2048);
  EXPECT_EQ(model.norm_epsilon, 1e-6);
  EXPECT_EQ(config.eos, std::vector<int32_t>{2});
  EXPECT_EQ(config.defaulted.size(), 6u);
  EXPECT_EQ(config.defaulted[1], "hidden_size (4096)");

  const auto moe = parse_config(R"({"model_type": "qwen2_moe"})", "config.json");
  const models::Qwen2MoeConfig experts =
      qwen2_moe(unwrap(parse_json(R"({"model_type": "qwen2_moe"})", "")));
  EXPECT_EQ(experts.vocabulary, 151936);
  EXPECT_EQ(experts.hidden, 2048);
  EXPECT_EQ(experts.layers, 24);
  EXPECT_EQ(experts.heads, 16);
  EXPECT_EQ(experts.kv_heads, 16);
  EXPECT_EQ(experts.context, 32768);
  EXPECT_EQ(experts.intermediate, 5632);
  EXPECT_EQ(experts.experts, 60);
  EXPECT_EQ(experts.experts_per_token, 4);
  EXPECT_EQ(experts.expert_intermediate, 1408);
  EXPECT_EQ(experts.shared_intermediate, 5632);
  EXPECT_TRUE(moe.eos.empty());
  // The default of 16 key-value heads does not follow the number of heads.
  expect_user_error(
      [] {
        parse_config(R"({"model_type": "qwen2_moe", "num_attention_heads": 8})", "config.json");
      },
      {"num_attention_heads", "num_key_value_heads", "at least 16"});
}

TEST(HuggingFaceConfig, ThetaInsideOfRopeScaling) {
  Json json = with(base_config(), "rope_scaling",
                   R"({"rope_type": "linear", "factor": 2, "rope_theta": 7e4})");
  EXPECT_EQ(llama(json).rope.theta, 7e4);
  ASSERT_EQ(parse(json).warnings.size(), 1u);  // while the outer rope_theta is 500000
  EXPECT_NE(parse(json).warnings[0].find("rope_scaling.rope_theta"), std::string::npos);
  json = without(json, "rope_theta");
  EXPECT_EQ(llama(json).rope.theta, 7e4);
  EXPECT_TRUE(parse(json).warnings.empty());
  // rope_scaling has priority over rope_parameters if it contains anything.
  json =
      with(json, "rope_parameters", R"({"rope_type": "linear", "factor": 4, "rope_theta": 1e5})");
  EXPECT_EQ(llama(json).rope.theta, 7e4);
  EXPECT_EQ(llama(json).rope.factor, 2);
  ASSERT_EQ(parse(json).warnings.size(), 1u);
  for (const char* nothing : {"{}", "null"}) {
    Json other = with(json, "rope_scaling", nothing);
    EXPECT_EQ(llama(other).rope.theta, 1e5);
    EXPECT_TRUE(parse(other).warnings.empty());
  }
}

TEST(HuggingFaceConfig, TypesOfRope) {
  // Without a type, positions are not scaled.
  Json json = with(base_config(), "rope_scaling", R"({"factor": 2})");
  EXPECT_EQ(llama(json).rope.scaling, RopeConfig::Scaling::kNone);
  ASSERT_EQ(parse(json).warnings.size(), 1u);
  json = with(base_config(), "rope_scaling",
              R"({"rope_type": "default", "type": "linear", "factor": 2})");
  EXPECT_EQ(llama(json).rope.scaling, RopeConfig::Scaling::kNone);
  ASSERT_EQ(parse(json).warnings.size(), 1u);
  // The context length replaces an absent original one.
  json =
      with(base_config(), "rope_scaling",
           R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})");
  EXPECT_EQ(llama(json).rope.original_context, 256);
}

TEST(HuggingFaceConfig, Dtypes) {
  const Json none = without(base_config(), "torch_dtype");
  EXPECT_EQ(parse(with(none, "dtype", "\"torch.bfloat16\"")).dtype, DType::kBF16);
  EXPECT_EQ(parse(with(none, "torch_dtype", "\"torch.float16\"")).dtype, DType::kF16);
  EXPECT_EQ(parse(with(none, "dtype", "\"auto\"")).dtype, DType::kF32);
  EXPECT_EQ(parse(with(base_config(), "dtype", "\"auto\"")).dtype, DType::kBF16);
  const HuggingFaceConfig both = parse(with(base_config(), "dtype", "\"float16\""));
  EXPECT_EQ(both.dtype, DType::kF16);
  ASSERT_EQ(both.warnings.size(), 1u);
  EXPECT_NE(both.warnings[0].find("torch_dtype"), std::string::npos);
}

TEST(HuggingFaceConfig, KindAndClassMustAgree) {
  expect_user_error([] { parse(with(base_config(), "model_type", "\"mistral\"")); },
                    {"model_type", "mistral", "LlamaForCausalLM", "\"llama\""});
  EXPECT_EQ(parse(with(base_config(), "architectures", "[\"LlamaModel\"]")).architecture, "llama");
}

TEST(HuggingFaceConfig, FieldsThatTransformersIgnoresAreWarnings) {
  const auto warning = [](const char* key, const char* value) {
    const auto warnings = parse(with(base_config(), key, value)).warnings;
    return warnings.size() == 1 ? warnings[0] : std::to_string(warnings.size()) + " warnings";
  };
  EXPECT_NE(warning("hidden_activation", "\"gelu\"").find("\"hidden_act\" is used"),
            std::string::npos);
  EXPECT_EQ(warning("hidden_activation", "\"silu\""), "0 warnings");
  EXPECT_NE(warning("sliding_window", "64").find("every layer attends"), std::string::npos);
  EXPECT_EQ(warning("sliding_window", "null"), "0 warnings");
  EXPECT_EQ(warning("sliding_window", "256"), "0 warnings");
}

TEST(HuggingFaceConfig, WindowsOfQwen2Moe) {
  using Layers = std::vector<bool>;
  const Json windows =
      with(with(moe_config(), "use_sliding_window", "true"), "sliding_window", "64");
  EXPECT_EQ(qwen2_moe(windows).window, 64);
  EXPECT_EQ(qwen2_moe(windows).windowed, (Layers{true, false}));
  EXPECT_EQ(qwen2_moe(with(windows, "max_window_layers", "0")).windowed, (Layers{false, false}));
  const Json mixed = with(windows, "layer_types", R"(["full_attention", "sliding_attention"])");
  EXPECT_EQ(qwen2_moe(mixed).windowed, (Layers{false, true}));
  // A window of the context length or more has no effect, nor has one that is not wanted.
  EXPECT_EQ(qwen2_moe(with(windows, "sliding_window", "256")).window, 0);
  EXPECT_EQ(qwen2_moe(with(windows, "use_sliding_window", "false")).window, 0);
  expect_user_error([&] { parse(with(windows, "layer_types", R"(["full_attention"])")); },
                    {"layer_types", "2 of them"});
  expect_user_error(
      [&] { parse(with(windows, "layer_types", R"(["full_attention", "linear_attention"])")); },
      {"layer_types", "linear_attention", "sliding_attention"});
}

TEST(HuggingFaceConfig, Qwen2MoeWithoutASharedExpert) {
  for (const char* none : {"0", "null"}) {
    Json json = with(moe_config(), "shared_expert_intermediate_size", none);
    EXPECT_EQ(qwen2_moe(json).shared_intermediate, 0);
  }
  EXPECT_EQ(qwen2_moe(with(moe_config(), "head_dim", "20")).head_dim, 20);
}

TEST(HuggingFaceConfig, UnknownNamesListTheKnown) {
  auto refuses = [](const char* key, const char* value, const std::vector<std::string>& parts) {
    expect_user_error([&] { parse(with(base_config(), key, value)); }, parts);
  };
  refuses("architectures", "[\"MambaForCausalLM\"]",
          {"MambaForCausalLM", "Mamba2ForCausalLM", "tapml models", "own-architecture.md"});
  refuses("hidden_act", "\"mish\"", {"mish", "silu"});
  refuses("rope_scaling", R"({"rope_type": "longrope", "factor": 2})",
          {"rope_scaling.rope_type", "longrope", "default, linear, llama3 or yarn"});
  refuses("rope_parameters", R"({"rope_type": "dynamic"})", {"dynamic", "llama3"});
  refuses("torch_dtype", "\"float8\"", {"float8", "float32, float16 or bfloat16"});
  Json by_type = with(without(base_config(), "architectures"), "model_type", "\"rwkv\"");
  expect_user_error([&] { parse(by_type); }, {"model_type", "rwkv", "rwkv5, rwkv6 or rwkv7"});
  Json nothing = without(without(base_config(), "architectures"), "model_type");
  expect_user_error([&] { parse(nothing); }, {"architectures", "missing", "LlamaForCausalLM"});
}

TEST(HuggingFaceConfig, Llama3ScalingFields) {
  auto refuses = [](const char* scaling, const char* key) {
    expect_user_error([&] { parse(with(base_config(), "rope_scaling", scaling)); },
                      {std::string("rope_scaling.") + key, "config.json"});
  };
  refuses(R"({"rope_type": "llama3"})", "factor");
  refuses(R"({"rope_type": "llama3", "factor": 0.5})", "factor");
  refuses(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4})",
          "high_freq_factor");
  refuses(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
              "original_max_position_embeddings": 64.5})",
          "original_max_position_embeddings");
}

TEST(HuggingFaceConfig, NotAnObjectOrNotJson) {
  expect_user_error([] { parse_config("", "config.json"); }, {"config.json"});
  expect_user_error([] { parse_config("{\"vocab_size\": 3", "config.json"); }, {"config.json"});
  expect_user_error([] { parse_config("[1, 2]", "config.json"); }, {"config.json", "an object"});
  expect_user_error([] { parse_config(std::string(100000, '['), "config.json"); }, {"config.json"});
}

}  // namespace
}  // namespace tapml::frontend
