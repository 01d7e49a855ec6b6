// The exports of a Llama model's Module.
#include "models/architectures/llama.h"

#include <gtest/gtest.h>

#include "abi/model_interface.h"
#include "analysis/verifier.h"
#include "base/strings.h"
#include "build/block_builder.h"
#include "models/table.h"
#include "relax/visit.h"
#include "support/expect_error.h"

namespace tapml::models {
namespace {

LlamaConfig small_llama_config() {
  LlamaConfig config;
  config.vocabulary = 11;
  config.hidden = 12;
  config.intermediate = 20;
  config.layers = 2;
  config.heads = 3;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.context = 40;
  return config;
}

std::string signature(const Module& module, const std::string& name) {
  const auto* function = relax::as_relax_function(module.find(name));
  std::string text;
  for (const auto& param : function->params) {
    text += param->name + ": " + relax::to_string(param->annotation) + "\n";
  }
  return text + "-> " + relax::to_string(function->result);
}

TEST(Llama, WeightsInOrder) {
  std::string text;
  for (const WeightSpec& weight : decoder_weights(llama_model(small_llama_config()))) {
    if (weight.name.starts_with("model.layers.1")) continue;
    text += weight.name + " " + shape_to_string(weight.shape) + "\n";
  }
  EXPECT_EQ(text,
            "model.embed_tokens.weight [11, 12]\n"
            "model.layers.0.input_layernorm.weight [12]\n"
            "model.layers.0.self_attn.q_proj.weight [12, 12]\n"
            "model.layers.0.self_attn.k_proj.weight [4, 12]\n"
            "model.layers.0.self_attn.v_proj.weight [4, 12]\n"
            "model.layers.0.self_attn.o_proj.weight [12, 12]\n"
            "model.layers.0.post_attention_layernorm.weight [12]\n"
            "model.layers.0.mlp.gate_proj.weight [20, 12]\n"
            "model.layers.0.mlp.up_proj.weight [20, 12]\n"
            "model.layers.0.mlp.down_proj.weight [12, 20]\n"
            "model.norm.weight [12]\n"
            "lm_head.weight [11, 12]\n");
}

TEST(Llama, BiasesFollowTheirWeights) {
  LlamaConfig config = small_llama_config();
  config.layers = 1;
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  std::string text, previous;
  for (const WeightSpec& weight : decoder_weights(llama_model(config))) {
    if (weight.name.ends_with(".bias")) {
      EXPECT_EQ(previous, weight.name.substr(0, weight.name.size() - 4) + "weight");
      text += weight.name.substr(15) + " " + shape_to_string(weight.shape) + "\n";
    }
    previous = weight.name;
  }
  EXPECT_EQ(text,
            "self_attn.q_proj.bias [12]\nself_attn.k_proj.bias [4]\nself_attn.v_proj.bias [4]\n"
            "self_attn.o_proj.bias [12]\nmlp.gate_proj.bias [20]\nmlp.up_proj.bias [20]\n"
            "mlp.down_proj.bias [12]\n");
  config.mlp_bias = false;
  EXPECT_EQ(decoder_weights(llama_model(config)).size(), 12u + 4u);
  Module module = build_decoder(llama_model(config), {.fallback = DType::kBF16});
  analysis::verify(module);
  build::check_annotations(module);
}

TEST(Llama, Signatures) {
  LlamaConfig config = small_llama_config();
  config.layers = 1;
  config.tied_embeddings = true;
  Module module = build_decoder(llama_model(config), {.fallback = DType::kBF16});
  const std::string weights =
      "model.embed_tokens.weight: Tensor((11, 12), bf16)\n"
      "model.layers.0.input_layernorm.weight: Tensor((12,), bf16)\n"
      "model.layers.0.self_attn.q_proj.weight: Tensor((12, 12), bf16)\n"
      "model.layers.0.self_attn.k_proj.weight: Tensor((4, 12), bf16)\n"
      "model.layers.0.self_attn.v_proj.weight: Tensor((4, 12), bf16)\n"
      "model.layers.0.self_attn.o_proj.weight: Tensor((12, 12), bf16)\n"
      "model.layers.0.post_attention_layernorm.weight: Tensor((12,), bf16)\n"
      "model.layers.0.mlp.gate_proj.weight: Tensor((20, 12), bf16)\n"
      "model.layers.0.mlp.up_proj.weight: Tensor((20, 12), bf16)\n"
      "model.layers.0.mlp.down_proj.weight: Tensor((12, 20), bf16)\n"
      "model.norm.weight: Tensor((12,), bf16)\n";
  auto expected = [&](const std::string& n, const std::string& logits) {
    const std::string pool = "Tensor((pages, 16, 1, 4), f32)";
    return "tokens: Tensor((b, " + n + "), i32)\npage_table: Tensor((b, p), i32)\n" +
           "lengths: Tensor((b,), i32)\nk_pool.0: " + pool + "\nv_pool.0: " + pool + "\n" +
           weights + "-> Tuple(Tensor(" + logits + ", f32), " + pool + ", " + pool + ")";
  };
  EXPECT_EQ(signature(module, "prefill"), expected("n", "(b, 11)"));
  EXPECT_EQ(signature(module, "decode"), expected("1", "(b, 11)"));
  EXPECT_EQ(signature(module, "logits_all"), expected("n", "(b, n, 11)"));
  EXPECT_EQ(signature(module, "sample"),
            "logits: Tensor((b, 11), f32)\nparameters: Tensor((b, 2), f32)\n"
            "state: Tensor((2,), i64)\n-> Tuple(Tensor((b,), i32), Tensor((2,), i64))");
  EXPECT_EQ(signature(module, "draw"),
            "logits: Tensor((b, 11), f32)\nparameters: Tensor((b, 3), f64)\n"
            "state: Tensor((b, 2), i64)\n-> Tuple(Tensor((b,), i32), Tensor((b, 2), i64))");
}

TEST(Llama, ModelInterfaceAndBounds) {
  Module module = build_decoder(llama_model(small_llama_config()), {});
  ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_EQ(model.vocabulary, 11);
  EXPECT_EQ(model.context, 40);
  ASSERT_EQ(model.state.size(), 4U);
  EXPECT_EQ(state_text(model.state.front()), "k_pool.0: paged f32[1, 4]");
  EXPECT_EQ(state_text(model.state.back()), "v_pool.1: paged f32[1, 4]");
  EXPECT_EQ(model.page_size, 16);
  ASSERT_TRUE(model.find_function("decode"));
  EXPECT_EQ(model_function_text(*model.find_function("decode")),
            "decode(tokens, page_table, lengths, paged, weights) -> (logits, paged)");
  EXPECT_EQ(model.weights.size(), 21u);
  EXPECT_EQ(module.facts.bounds.at("n"), 40);
  EXPECT_EQ(module.facts.bounds.at("p"), 3);
}

TEST(Llama, EveryBindingNamesItsLayerAndItsLine) {
  Module module = build_decoder(llama_model(small_llama_config()), {});
  std::set<std::string> origins, lines;
  for (const char* name : {"prefill", "decode", "logits_all", "sample", "draw"}) {
    relax::visit_bindings(relax::as_relax_function(module.find(name))->body,
                          [&](const relax::Binding& binding, bool) {
                            EXPECT_FALSE(binding.origin.layers.empty()) << binding.var->name;
                            ASSERT_EQ(binding.origin.lines.size(), 1u) << binding.var->name;
                            lines.insert(*binding.origin.lines.begin());
                            origins.insert(binding.origin.layers.begin(),
                                           binding.origin.layers.end());
                          });
  }
  for (const char* path :
       {"model.embed_tokens", "model.layers.0", "model.layers.1.input_layernorm",
        "model.layers.1.self_attn", "model.layers.1.self_attn.q_proj",
        "model.layers.1.self_attn.o_proj", "model.layers.0.mlp.act_fn",
        "model.layers.0.mlp.down_proj", "model.norm", "lm_head", "sample", "draw"}) {
    EXPECT_TRUE(origins.contains(path)) << path;
  }
  std::set<std::string> files;
  for (const std::string& line : lines) files.insert(line.substr(0, line.find(':')));
  const std::set<std::string> expected = {"src/models/decoder.cpp",
                                          "src/models/draw.cpp",

                                          "src/models/blocks/attention.cpp",
                                          "src/models/blocks/embedding.cpp",
                                          "src/models/blocks/feed_forward.cpp",
                                          "src/models/blocks/layer.cpp",
                                          "src/models/blocks/linear.cpp",
                                          "src/models/blocks/norm.cpp",
                                          "src/models/blocks/rope.cpp"};
  EXPECT_EQ(files, expected) << join(lines);
}

TEST(Llama, IsWellFormed) {
  Module module = build_decoder(llama_model(small_llama_config()), {.fallback = DType::kF16});
  analysis::verify(module);
  build::check_annotations(module);
}

TEST(Llama, SizesThatOverflowAreRefused) {
  LlamaConfig config = small_llama_config();
  config.vocabulary = int64_t{1} << 40;
  config.hidden = int64_t{1} << 40;
  testing::expect_user_error([&] { build_decoder(llama_model(config), {}); },
                             {"too large", "embed_tokens"});
}

TEST(ArchitectureTable, UnknownNamesListTheKnown) {
  EXPECT_EQ(&find_architecture("llama"), &architecture_table()[0]);
  testing::expect_user_error([] { find_architecture("rwkv"); }, {"rwkv", "llama"});
}

}  // namespace
}  // namespace tapml::models
