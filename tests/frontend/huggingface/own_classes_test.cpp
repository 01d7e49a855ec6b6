// Configurations of architectures whose class is code in the published folders: what is refused,
// and fields under their own names. tests/models compares the models with llama.cpp.
#include <gtest/gtest.h>

#include "golden_config.h"

namespace tapml::frontend {
namespace {

using testing::expect_user_error;

TEST(OwnClasses, DynamicScalingChangesNoTextWithinTheContext) {
  const char* dynamic = R"({"type": "dynamic", "factor": 2.0})";
  for (const char* name : {"orion", "internlm2", "minicpm"}) {
    const std::string scaled = changed(name, "rope_scaling", dynamic);
    EXPECT_EQ(program_of(scaled), program_of(changed(name, "rope_scaling", "null"))) << name;
    EXPECT_NE(program_of(changed(name, "rope_scaling", R"({"type": "linear", "factor": 2.0})")),
              program_of(scaled));
    EXPECT_TRUE(parse_text(scaled).warnings.empty());
    for (const char* type : {"longrope", "llama3", "yarn"}) {
      const std::string scaling =
          R"({"factor": 2.0, "low_freq_factor": 1, "high_freq_factor": 4, "type": ")" +
          std::string(type) + "\"}";
      refuses(name, "rope_scaling", scaling, {"default, linear or dynamic"});
    }
  }
}

// Their classes ignore the field, so that a configuration which has it would be computed otherwise
// than it says.
TEST(OwnClasses, WithoutScaledPositions) {
  for (const char* name : {"baichuan", "chatglm", "internlm", "qwen"}) {
    for (const char* type : {"linear", "dynamic", "yarn"}) {
      const std::string scaling = R"({"factor": 2.0, "type": ")" + std::string(type) + "\"}";
      refuses(name, "rope_scaling", scaling, {"rope_scaling", "default"});
    }
  }
}

TEST(OwnClasses, Orion) { refuses("orion", "attention_bias", "true", {"biases of the attention"}); }

TEST(OwnClasses, MiniCpm) {
  refuses("minicpm", "num_experts", "8", {"MiniCPM-MoE"});
  refuses("minicpm", "sparse_config", "{}", {"sparse attention"});
  refuses("minicpm", "scale_depth", "\"deep\"", {});
}

TEST(OwnClasses, QwenHasTextsOfTheTrainedLength) {
  for (const char* key : {"use_dynamic_ntk", "use_logn_attn"}) {
    const char* other =
        key == std::string_view("use_dynamic_ntk") ? "use_logn_attn" : "use_dynamic_ntk";
    Json json = *parse_json(changed("qwen", "seq_length", "32"), "config");
    json.set(other, Json::boolean(false));
    const HuggingFaceConfig limited = parse_text(json.dump());
    EXPECT_EQ(limited.model.context, 32);
    ASSERT_EQ(limited.warnings.size(), 1u);
    EXPECT_NE(limited.warnings[0].find(key), std::string::npos) << limited.warnings[0];
    EXPECT_NE(limited.warnings[0].find("32 tokens"), std::string::npos) << limited.warnings[0];
    json.set(key, Json::boolean(false));
    EXPECT_EQ(parse_text(json.dump()).model.context, 128);
    EXPECT_TRUE(parse_text(json.dump()).warnings.empty());
  }
  EXPECT_EQ(parse_text(changed("qwen", "seq_length", "128")).model.context, 128);
}

TEST(OwnClasses, Qwen) {
  refuses("qwen", "no_bias", "false", {"c_attn"});
  refuses("qwen", "kv_channels", "32", {"16"});
  refuses("qwen", "intermediate_size", "191", {"even"});
  refuses("qwen", "num_key_value_heads", "2", {"num_attention_heads"});
  refuses("qwen", "rotary_pct", "0.1", {"rotates 1 of 16"});
  refuses("qwen", "n_embd", "64", {"first release"});
  refuses("qwen", "scale_attn_weights", "false", {"scale"});
}

// The two forms of the class differ by the field that has the context.
TEST(OwnClasses, BaichuanHasARotationOrBiases) {
  Json json = *parse_json(changed("baichuan", "model_max_length", "4096"), "config");
  EXPECT_EQ(parse_text(json.dump()).model.context, 128);  // the 7B form may have both fields
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& member : json.members()) {
    if (member.first != "max_position_embeddings") members.push_back(member);
  }
  EXPECT_EQ(parse_text(Json::object(members).dump()).model.context, 4096);
  refuses("baichuan", "num_key_value_heads", "2", {"num_attention_heads"});
}

TEST(OwnClasses, MptIsAsItsClassInTransformers) {
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, std::string>>{{"alibi", "false"},
                                                        {"prefix_lm", "true"},
                                                        {"qk_ln", "true"},
                                                        {"attn_type", R"("multiquery_attention")"},
                                                        {"alibi_bias_max", "16"}}) {
    refuses("mpt", "attn_config", "{\"" + field + "\": " + value + "}", {field});
  }
  refuses("mpt", "no_bias", "false", {"no_bias"});
  refuses("mpt", "expansion_ratio", "2", {"expansion_ratio", "4"});
  refuses("mpt", "logit_scale", "0.5", {"logit_scale"});
  refuses("mpt", "n_heads", "5", {"d_model", "n_heads"});
}

TEST(OwnClasses, InternLmNamesItsRotation) {
  refuses("internlm", "rotary", R"({"base": 10000, "type": "alibi"})", {"origin or dynamic"});
  refuses("internlm", "rotary", R"({"base": 0})", {"base"});
  EXPECT_EQ(program_of(changed("internlm", "rotary", R"({"base": 10000, "type": "origin"})")),
            program_of(changed("internlm", "rotary", "null")));
  EXPECT_NE(program_of(changed("internlm", "rotary", R"({"base": 20000})")),
            program_of(changed("internlm", "rotary", "null")));
}

TEST(OwnClasses, ChatGlm) {
  refuses("chatglm", "add_bias_linear", "true", {"biases"});
  refuses("chatglm", "apply_residual_connection_post_layernorm", "true", {"residuals"});
  refuses("chatglm", "post_layer_norm", "false", {"a norm after the layers"});
  refuses("chatglm", "rmsnorm", "false", {"layer norms"});
  refuses("chatglm", "multi_query_attention", "false", {"is not true"});
  refuses("chatglm", "position_encoding_2d", "true", {"ChatGLM 1"});
  refuses("chatglm", "quantization_bit", "4", {"quantized"});
  refuses("chatglm", "pre_seq_len", "128", {"prefixes"});
  refuses("chatglm", "kv_channels", "18", {"a multiple of 4"});
  refuses("chatglm", "multi_query_group_num", "3", {});
  EXPECT_EQ(parse_text(changed("chatglm", "quantization_bit", "0")).model.context, 128);
  for (const char* name : {"ChatGLMModel", "ChatGLMForConditionalGeneration"}) {
    const std::string config =
        changed("chatglm", "architectures", "[\"" + std::string(name) + "\"]");
    EXPECT_EQ(parse_text(config).architecture, "chatglm");
  }
}

}  // namespace
}  // namespace tapml::frontend
