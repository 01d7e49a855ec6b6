// The contents of a Qwen2-MoE model's Module.
#include "models/architectures/qwen2_moe.h"

#include <gtest/gtest.h>

#include "abi/model_interface.h"
#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "text/printer.h"

namespace tapml::models {
namespace {

Qwen2MoeConfig small_moe_config() {
  Qwen2MoeConfig config;
  config.vocabulary = 11;
  config.hidden = 12;
  config.layers = 2;
  config.heads = 3;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.context = 40;
  config.qkv_bias = true;
  config.intermediate = 20;
  config.experts = 4;
  config.experts_per_token = 2;
  config.expert_intermediate = 6;
  config.shared_intermediate = 10;
  config.sparse = {false, true};
  return config;
}

TEST(Qwen2Moe, ExpertsAreOneWeightWithTheNamesOfItsParts) {
  std::string text;
  for (const WeightSpec& weight : decoder_weights(qwen2_moe_model(small_moe_config()))) {
    if (!weight.name.starts_with("model.layers.1.mlp")) continue;
    text += weight.name.substr(15) + " " + shape_to_string(weight.shape) + "\n";
    if (weight.name.find(".experts.") != std::string::npos) {
      ASSERT_EQ(weight.parts.size(), 4u);
      EXPECT_TRUE(weight.parts[3].starts_with("model.layers.1.mlp.experts.3."));
    } else {
      EXPECT_TRUE(weight.parts.empty());
    }
  }
  EXPECT_EQ(text,
            "mlp.gate.weight [4, 12]\n"
            "mlp.experts.gate_proj.weight [4, 6, 12]\n"
            "mlp.experts.up_proj.weight [4, 6, 12]\n"
            "mlp.experts.down_proj.weight [4, 12, 6]\n"
            "mlp.shared_expert.gate_proj.weight [10, 12]\n"
            "mlp.shared_expert.up_proj.weight [10, 12]\n"
            "mlp.shared_expert.down_proj.weight [12, 10]\n"
            "mlp.shared_expert_gate.weight [1, 12]\n");
}

// The number of calls of an operator in a printed module.
int calls(const std::string& text, const std::string& op) {
  int count = 0;
  for (const std::string& form : {"= " + op + "(", "= op \"" + op + "\"("}) {
    for (size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + 1)) {
      ++count;
    }
  }
  return count;
}

TEST(Qwen2Moe, IsWellFormed) {
  for (bool renormalize : {false, true}) {
    Qwen2MoeConfig config = small_moe_config();
    config.renormalize = renormalize;
    Module module = build_decoder(qwen2_moe_model(config), {.fallback = DType::kBF16});
    analysis::verify(module);
    build::check_annotations(module);
    EXPECT_EQ(unwrap(model_interface_of(module.all_attrs())).architecture, "qwen2_moe");
    // Only the second layer has experts: three products in each of three functions.
    const std::string text = text::print(module);
    EXPECT_EQ(calls(text, "gather_matmul"), 9);
    EXPECT_EQ(calls(text, "topk"), 3 + 1) << "and the sort of draw";
    EXPECT_EQ(calls(text, "divide"), renormalize ? 3 : 0);
  }
}

}  // namespace
}  // namespace tapml::models
