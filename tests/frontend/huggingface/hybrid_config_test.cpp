// Configurations of architectures whose layers are of two kinds: what is refused, and their state.
#include <gtest/gtest.h>

#include "abi/model_interface.h"
#include "golden_config.h"
#include "models/decoder.h"

namespace tapml::frontend {
namespace {

std::vector<std::string> states_of(const std::string& config) {
  const Module module = models::build_decoder(testing::parse_golden_config(config).model, {});
  std::vector<std::string> states;
  for (const StateTensor& state : unwrap(model_interface_of(module.all_attrs())).state) {
    states.push_back(state_text(state));
  }
  return states;
}

TEST(HybridConfig, OfLfm2) {
  refuses("lfm2", "conv_L_cache", "0");
  refuses("lfm2", "conv_L_cache", "65", {"64"});
  refuses("lfm2", "conv_L_cache", "\"three\"");
  refuses("lfm2", "conv_bias", "1");
  refuses("lfm2", "layer_types", R"(["conv", "full_attention"])", {"3 of them"});
  refuses("lfm2", "layer_types", R"(["conv", "sliding_attention", "conv"])",
          {"sliding_attention", "conv", "full_attention"});
  refuses("lfm2_biased", "full_attn_idxs", "[-1]");
  refuses("lfm2_biased", "full_attn_idxs", "2");
  refuses("lfm2_biased", "block_ffn_dim_multiplier", "0");
  refuses("lfm2_biased", "block_ffn_dim_multiplier", "1e6", {"too large"});
  refuses("lfm2_biased", "block_multiple_of", "0");
  refuses("lfm2_biased", "block_ff_dim", "1", {"width of 0"});
  refuses("lfm2", "quantization_config", "{}");
}

TEST(HybridConfig, StateOfLfm2) {
  EXPECT_EQ(states_of(testing::golden_config_with("lfm2", "conv_L_cache", "4")),
            (std::vector<std::string>{"convolution.0: recurrent f32[3, 64]",
                                      "k_pool.1: paged f32[2, 16]", "v_pool.1: paged f32[2, 16]",
                                      "convolution.2: recurrent f32[3, 64]"}));
  // A kernel of one token needs none.
  EXPECT_EQ(states_of(testing::golden_config_with("lfm2", "conv_L_cache", "1")).size(), 2u);
  // Without layer_types and full_attn_idxs every layer attends.
  EXPECT_EQ(states_of(testing::golden_config_with("lfm2_biased", "full_attn_idxs", "null")).size(),
            8u);
}

TEST(HybridConfig, OfLfm2WithExperts) {
  refuses("lfm2_moe", "layer_types", "null", {"null"});
  refuses("lfm2_moe", "num_dense_layers", "-1");
  refuses("lfm2_moe", "num_experts", "0");
  refuses("lfm2_moe", "num_experts_per_tok", "7");
  refuses("lfm2_moe", "moe_intermediate_size", "0");
  refuses("lfm2_moe", "routed_scaling_factor", "0");
  refuses("lfm2_moe", "use_expert_bias", "\"yes\"");
}

TEST(HybridConfig, OfOlmoHybrid) {
  for (const char* size : {"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
                           "linear_value_head_dim", "linear_conv_kernel_dim"}) {
    refuses("olmo_hybrid", size, "0");
    refuses("olmo_hybrid", size, "1.5");
    refuses("olmo_hybrid", size, "1000000000000");
  }
  refuses("olmo_hybrid", "linear_num_value_heads", "5", {"linear_num_key_heads"});
  refuses("olmo_hybrid", "linear_allow_neg_eigval", "2");
  for (const char* one : {"full_attention", "linear_attention"}) {
    const std::string kind = "\"" + std::string(one) + "\"";
    refuses("olmo_hybrid", "layer_types", "[" + kind + ", " + kind + ", " + kind + "]",
            {"of one kind alone"});
  }
}

TEST(HybridConfig, OfDeltaNets) {
  for (const char* name : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    SCOPED_TRACE(name);
    for (const char* size :
         {"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
          "linear_value_head_dim", "linear_conv_kernel_dim", "full_attention_interval"}) {
      refuses(name, size, "0");
      refuses(name, size, "-3");
      refuses(name, size, "1.5");
      refuses(name, size, "\"two\"");
      refuses(name, size, "1000000000000");
    }
    refuses(name, "linear_num_value_heads", "5", {"linear_num_key_heads", "a multiple of 2"});
    refuses(name, "layer_types", R"(["linear_attention"])", {"of them"});
    refuses(name, "layer_types", R"(["linear_attention", "conv", "full_attention"])", {"conv"});
    refuses(name, "attention_bias", "\"no\"");
    refuses(name, "partial_rotary_factor", "0.05", {"rotates 1 of 24"});
  }
  refuses("qwen3_next", "num_experts", "-1");
  refuses("qwen3_next", "num_experts_per_tok", "7");
  refuses("qwen3_next", "decoder_sparse_step", "0");
  refuses("qwen3_5_moe_text", "num_experts", "0");
  refuses("qwen3_5_moe_text", "moe_intermediate_size", "0");
}

}  // namespace
}  // namespace tapml::frontend
