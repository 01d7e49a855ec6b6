// Configurations of architectures with experts in groups, latent attention, sinks and chunks: what
// is refused, and the state of latent attention.
#include <gtest/gtest.h>

#include "abi/model_interface.h"
#include "golden_config.h"
#include "models/decoder.h"

namespace tapml::frontend {
namespace {

TEST(ExpertConfig, OfDeepseek) {
  for (const char* name : {"deepseek_v2", "deepseek_v3"}) {
    refuses(name, "n_routed_experts", "0");
    refuses(name, "n_routed_experts", "-8");
    refuses(name, "num_experts_per_tok", "9");
    refuses(name, "n_group", "3", {"n_routed_experts", "divisor of 8"});
    refuses(name, "n_group", "9");
    refuses(name, "topk_group", "5");
    refuses(name, "topk_group", "1", {"num_experts_per_tok", "3 experts", "2"});
    refuses(name, "n_shared_experts", "-1");
    refuses(name, "first_k_dense_replace", "-1");
    refuses(name, "routed_scaling_factor", "0");
    refuses(name, "moe_layer_freq", "2", {"every layer"});
    refuses(name, "moe_intermediate_size", "\"many\"");
    refuses(name, "num_key_value_heads", "2", {"every head", "4"});
    refuses(name, "q_lora_rank", "0");
    refuses(name, "kv_lora_rank", "null");
    refuses(name, "qk_rope_head_dim", "7");
    refuses(name, "qk_nope_head_dim", "0");
    refuses(name, "v_head_dim", "-4");
    refuses(name, "quantization_config", R"({"quant_method": "fp9"})");
  }
  refuses("deepseek_v2", "num_experts_per_tok", "null");
  refuses("deepseek_v2", "norm_topk_prob", "true", {"ignores"});
  refuses("deepseek_v2", "mlp_bias", "true");
  refuses("deepseek_v2", "topk_method", "\"noaux_tc\"", {"greedy"});
  refuses("deepseek_v2", "scoring_func", "\"sigmoid\"", {"softmax"});
  refuses("deepseek_v3", "n_group", "8", {"one expert"});
  refuses("deepseek_v3", "topk_method", "\"greedy\"", {"noaux_tc"});
  refuses("deepseek_v3", "scoring_func", "\"softmax\"", {"sigmoid"});
}

// A token has one row for all heads: the latent and the part of the key with positions.
TEST(ExpertConfig, StateOfLatentAttention) {
  const HuggingFaceConfig config = testing::parse_golden_config(
      testing::golden_config_with("deepseek_v3", "kv_lora_rank", "40"));
  const Module module = models::build_decoder(config.model, {});
  const auto& state = unwrap(model_interface_of(module.all_attrs())).state;
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state_text(state[0]), "latent_pool.0: paged f32[1, 48]");
}

TEST(ExpertConfig, OfGlm4AndDots1) {
  refuses("glm4_moe", "use_qk_norm", "1");
  refuses("glm4_moe", "partial_rotary_factor", "0.3", {"even"});
  refuses("glm4_moe_normed", "n_group", "12", {"one expert"});
  refuses("dots1", "n_routed_experts", "null", {"null"});
  refuses("dots1", "num_experts_per_tok", "null");
  refuses("dots1", "max_window_layers", "-1");
  refuses("dots1_types", "layer_types", R"(["full_attention"])", {"3 of them"});
}

TEST(ExpertConfig, OfGlm4Lite) {
  refuses("glm4_moe_lite_dense", "mlp_layer_types", R"(["sparse", "dense", "sparse"])",
          {"all dense layers before"});
  refuses("glm4_moe_lite_dense", "mlp_layer_types", R"(["dense", "full", "sparse"])",
          {"full", "sparse"});
  refuses("glm4_moe_lite_dense", "mlp_layer_types", R"(["dense"])", {"3 of them"});
  refuses("glm4_moe_lite", "num_key_value_heads", "2", {"latent attention"});
}

TEST(ExpertConfig, OfMiniMaxM2) {
  refuses("minimax_m2", "rotary_dim", "7", {"even"});
  refuses("minimax_m2", "rotary_dim", "0");
  refuses("minimax_m2", "rotary_dim", "2000");
  refuses("minimax_m2", "num_local_experts", "0");
  refuses("minimax_m2", "num_experts_per_tok", "7");
}

TEST(ExpertConfig, OfGranite3) {
  refuses("granitemoe", "num_local_experts", "0");
  refuses("granitemoe", "residual_multiplier", "0");
  refuses("granitemoeshared", "shared_intermediate_size", "-1");
}

TEST(ExpertConfig, OfGptOss) {
  refuses("gpt_oss", "num_local_experts", "0");
  refuses("gpt_oss", "num_experts_per_tok", "6");
  refuses("gpt_oss", "swiglu_limit", "0");
  refuses("gpt_oss", "swiglu_alpha", "\"1.7\"");
  refuses("gpt_oss", "sliding_window", "0");
  refuses("gpt_oss_types", "layer_types", R"(["full_attention", "chunked_attention", "x"])",
          {"chunked_attention", "sliding_attention"});
  refuses("gpt_oss", "quantization_config", R"({"quant_method": "mxfp5"})");
}

TEST(ExpertConfig, OfLlama4) {
  refuses("llama4", "attention_chunk_size", "0");
  refuses("llama4", "floor_scale", "0");
  refuses("llama4", "attn_scale", "-1");
  refuses("llama4", "interleave_moe_layer_step", "0");
  refuses("llama4", "no_rope_layer_interval", "0");
  refuses("llama4", "intermediate_size_mlp", "0");
  refuses("llama4_lists", "no_rope_layers", "[1, 0]", {"4 of them"});
  refuses("llama4_lists", "no_rope_layers", "[1, 0, 2, 1]");
  refuses("llama4_lists", "moe_layers", "[-1]");
  refuses("llama4_types", "layer_types", R"(["sliding_attention", "full_attention"])",
          {"sliding_attention", "chunked_attention"});
}

TEST(ExpertConfig, OfErnieAndMiniCpm3) {
  refuses("ernie4_5_moe", "moe_num_experts", "0");
  refuses("ernie4_5_moe", "moe_k", "7");
  refuses("ernie4_5_moe", "moe_layer_interval", "0");
  refuses("ernie4_5_moe", "moe_layer_end_index", "-2");
  refuses("ernie4_5_moe", "moe_norm_min", "0.5");
  refuses("ernie4_5_moe", "moe_num_shared_experts", "-1");
  refuses("minicpm3", "num_key_value_heads", "1", {"every head"});
  refuses("minicpm3", "scale_depth", "0");
  refuses("minicpm3", "mlp_bias", "true");
}

}  // namespace
}  // namespace tapml::frontend
