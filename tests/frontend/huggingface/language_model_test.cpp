// Fields of Ministral 3, Apertus, Gemma 3n, Gemma 4 and smaller ones that are refused, and the
// language models inside of models that also read images or sound. tests/models compares them with
// transformers.
#include <gtest/gtest.h>

#include "golden_config.h"
#include "model_folder.h"
#include "models/decoder.h"

namespace tapml::frontend {
namespace {

TEST(Ministral3, NeedsTheGrowthOfQueriesInItsRotation) {
  const auto rotation = [](const std::string& fields) {
    return R"({"rope_theta": 100.0, "rope_type": "default")" + fields + "}";
  };
  const char* block = R"(, "original_max_position_embeddings": 8)";
  const char* beta = R"(, "llama_4_scaling_beta": 0.1)";
  const auto refuses_rotation = [&](const std::string& fields,
                                    const std::vector<std::string>& parts) {
    refuses("ministral3", "rope_parameters", rotation(fields), parts);
  };
  refuses_rotation(block, {"llama_4_scaling_beta", "missing"});
  refuses_rotation(beta, {"original_max_position_embeddings", "missing"});
  refuses_rotation(std::string(block) + R"(, "llama_4_scaling_beta": -1)",
                   {"llama_4_scaling_beta"});
  refuses_rotation(std::string(block) + R"(, "llama_4_scaling_beta": "1")",
                   {"llama_4_scaling_beta"});
  refuses_rotation(std::string(beta) + R"(, "original_max_position_embeddings": 0)",
                   {"original_max_position_embeddings"});
  // Queries that do not grow have no factors. One is made for each of three functions.
  const auto factors_of = [&](const char* strength) {
    const std::string program = program_of(
        changed("ministral3", "rope_parameters",
                rotation(std::string(block) + R"(, "llama_4_scaling_beta": )" + strength)));
    int64_t count = 0;
    for (size_t at = 0; (at = program.find("\"divide\"(", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(factors_of("0.5") - factors_of("0"), 3);
}

TEST(Ministral3, HeadsOfTheHiddenSizeWhereTheirWidthIsNull) {
  const HuggingFaceConfig config = parse_text(changed("ministral3", "head_dim", "null"));
  const auto weights = models::decoder_weights(config.model);
  const auto q = std::ranges::find(weights, "model.layers.0.self_attn.q_proj.weight",
                                   &models::WeightSpec::name);
  ASSERT_NE(q, weights.end());
  EXPECT_EQ(q->shape, (Shape{64, 64}));
}

// The activation with weights is of Apertus alone.
TEST(Apertus, NamesItsActivation) {
  refuses("apertus", "hidden_act", "\"elu\"", {"relu2", "xielu"});
  testing::expect_user_error([] { parse_text(changed("arcee", "hidden_act", "\"xielu\"")); },
                             {"hidden_act", "relu2"});
  EXPECT_EQ(program_of(changed("apertus", "hidden_act", "\"xielu\"")),
            program_of(changed("apertus", "hidden_act", "null")));
}

TEST(Gemma4, FieldsThatAreRefused) {
  refuses("gemma4", "use_bidirectional_attention", "\"all\"", {"vision"});
  refuses("gemma4", "vocab_size_per_layer_input", "100", {"vocab_size", "203"});
  refuses("gemma4", "hidden_size_per_layer_input", "-1", {});
  refuses("gemma4", "global_head_dim", "7", {"odd"});
  refuses("gemma4", "global_head_dim", "0", {});
  refuses("gemma4_keys", "num_global_key_value_heads", "3", {"num_attention_heads"});
  refuses("gemma4_keys", "num_global_key_value_heads", "8", {});
  refuses("gemma4", "num_kv_shared_layers", "6", {});
  refuses("gemma4", "num_kv_shared_layers", "5", {"layer 0"});
  refuses("gemma4", "num_kv_shared_layers", "4", {"layer 1"});
  refuses("gemma4", "layer_types", R"(["full_attention"])", {"5"});
  refuses("gemma4", "use_double_wide_mlp", "1", {});
  refuses("gemma4", "final_logit_softcapping", "0", {});
  refuses("gemma4", "rope_parameters",
          R"({"full_attention": {"rope_type": "dynamic", "rope_theta": 10.0}})",
          {"rope_type", "proportional"});
  refuses("gemma4", "rope_parameters",
          R"({"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 2}})",
          {"partial_rotary_factor"});
}

TEST(Gemma4, Experts) {
  testing::expect_user_error([] { parse_text(changed("gemma4", "enable_moe_block", "true")); },
                             {"num_experts", "missing"});
  refuses("gemma4_experts", "num_experts", "0", {});
  refuses("gemma4_experts", "num_experts", "100000", {});
  refuses("gemma4_experts", "top_k_experts", "6", {});
  refuses("gemma4_experts", "top_k_experts", "null", {});
  refuses("gemma4_experts", "moe_intermediate_size", "0", {});
}

TEST(Gemma4, TheLastLayerHasNoWindow) {
  const HuggingFaceConfig config = parse_text(changed(
      "gemma4", "layer_types",
      R"(["full_attention", "sliding_attention", "full_attention", "full_attention", "sliding_attention"])"));
  ASSERT_EQ(config.warnings.size(), 1u);
  EXPECT_NE(config.warnings[0].find("the last layer"), std::string::npos);
}

TEST(Gemma4, HeadsOfLayersOfAKindAreTheSame) {
  const auto refuses_heads = [](const std::string& value, const std::vector<std::string>& parts) {
    refuses("gemma4_by_layer", "per_layer_config", value, parts);
  };
  refuses_heads(R"({"1": {"head_dim": 8}, "2": {"head_dim": 16}})",
                {"per_layer_config.1", "its kind"});
  refuses_heads(R"({"0": {}, "2": {"head_dim": 16}})", {"per_layer_config.0", "its kind"});
  refuses_heads(R"({"2": {"head_dim": 15}})", {"head_dim", "odd"});
  refuses_heads(R"({"2": {"num_key_value_heads": 3}})", {"num_key_value_heads"});
  refuses_heads(R"({"2": 16})", {});
  refuses_heads("[]", {});
  // Where it says nothing of a layer, that has the heads of all.
  EXPECT_EQ(
      program_of(changed("gemma4_by_layer", "per_layer_config", "{}")),
      program_of(changed("gemma4_by_layer", "per_layer_config", R"({"2": {"head_dim": 24}})")));
}

TEST(Gemma3n, FieldsThatAreRefused) {
  refuses("gemma3n", "intermediate_size", "[96]", {"4"});
  refuses("gemma3n", "intermediate_size", "[96, 0, 96, 96]", {});
  refuses("gemma3n", "intermediate_size", "\"wide\"", {});
  refuses("gemma3n", "activation_sparsity_pattern", "[0.5]", {"4"});
  refuses("gemma3n", "activation_sparsity_pattern", "[0, 0, 1.0, 0]", {"[2]", "0.9999"});
  refuses("gemma3n", "activation_sparsity_pattern", "[0, \"0\", 0, 0]", {"[1]"});
  refuses("gemma3n", "activation_sparsity_pattern", "0.5", {});
  refuses("gemma3n", "altup_active_idx", "4", {});
  refuses("gemma3n", "altup_num_inputs", "0", {});
  refuses("gemma3n", "laurel_rank", "0", {});
  refuses("gemma3n", "hidden_size_per_layer_input", "0", {});
  refuses("gemma3n", "num_kv_shared_layers", "3", {"layer 1"});
}

TEST(SmallDecoders, FieldsThatAreRefused) {
  refuses("cwm", "mlp_bias", "true", {"feed-forward"});
  refuses("cwm", "layer_types", R"(["full_attention"])", {"5"});
  refuses("nanochat", "final_logit_softcapping", "0", {});
  refuses("nanochat", "partial_rotary_factor", "0.5", {"whole heads"});
  refuses("vaultgemma", "attn_logit_softcapping", "-1", {});
  refuses("vaultgemma", "query_pre_attn_scalar", "0", {});
  refuses("jais2", "layer_norm_eps", "0", {});
  refuses("jais2", "hidden_act", "\"elu\"", {"relu2"});
  refuses("youtu", "num_key_value_heads", "2", {"latent"});
  refuses("youtu", "kv_lora_rank", "0", {});
}

// A published model that also reads images, with the language model of a golden configuration.
std::string wrapped(const std::string& name, const std::string& class_name,
                    const std::string& more = "") {
  const std::string path = testing::golden_path("logits/" + name + "/config.json");
  return R"({"architectures": [")" + class_name + R"("], "text_config": )" +
         unwrap(read_text_file(path)) + more + "}";
}

constexpr const char* kMistral3 = "Mistral3ForConditionalGeneration";

TEST(Wrapped, TheLanguageModelIsRead) {
  const std::map<std::string, std::string> classes = {
      {"gemma3", "Gemma3ForConditionalGeneration"},
      {"gemma3n", "Gemma3nForConditionalGeneration"},
      {"gemma4", "Gemma4ForConditionalGeneration"},
      {"llama4", "Llama4ForConditionalGeneration"},
      {"mistral", kMistral3},
      {"ministral3", kMistral3},
      {"qwen3_5_text", "Qwen3_5ForConditionalGeneration"},
      {"qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration"}};
  for (const auto& [name, class_name] : classes) {
    const std::string tied = R"(, "tie_word_embeddings": )";
    const bool is_tied = parse_text(changed(name, "vocab_size", "203")).model.tied_embeddings;
    const std::string text = wrapped(name, class_name, tied + (is_tied ? "true" : "false"));
    EXPECT_EQ(program_of(text), program_of(changed(name, "vocab_size", "203"))) << name;
  }
}

TEST(Wrapped, FieldsBesideTheLanguageModel) {
  const HuggingFaceConfig config = parse_text(
      wrapped("mistral", kMistral3,
              R"(, "dtype": "bfloat16", "eos_token_id": [7, 9], "tie_word_embeddings": true)"));
  EXPECT_EQ(config.architecture, "mistral");
  EXPECT_EQ(config.dtype, DType::kBF16);
  EXPECT_EQ(config.eos, (std::vector<int32_t>{7, 9}));
  EXPECT_TRUE(config.model.tied_embeddings);
  EXPECT_FALSE(parse_text(wrapped("mistral", kMistral3)).model.tied_embeddings);
  EXPECT_EQ(parse_text(wrapped("mistral", kMistral3)).dtype, DType::kF32);
  testing::expect_user_error(
      [] { parse_text(wrapped("mistral", kMistral3, R"(, "quantization_config": {})")); },
      {"quantization_config.quant_method", "missing"});
}

TEST(Wrapped, ErrorsNameTheNestedField) {
  const auto refuses_text = [](const std::string& text, const std::vector<std::string>& parts) {
    testing::expect_user_error(
        [&] {
          parse_text(R"({"architectures": ["Mistral3ForConditionalGeneration"])" + text + "}");
        },
        parts);
  };
  refuses_text("", {"text_config", "missing"});
  refuses_text(R"(, "text_config": 3)", {"text_config"});
  refuses_text(R"(, "text_config": {"model_type": "bert"})",
               {"text_config.model_type", "ministral3"});
  refuses_text(R"(, "text_config": {"hidden_size": 0})", {"text_config.hidden_size"});
}

TEST_F(HuggingFaceFolder, NamesOfALanguageModelInsideOfAnother) {
  write("config.json",
        R"({"architectures": ["Mistral3ForConditionalGeneration"], "text_config": )" +
            std::string(kConfig).replace(std::string(kConfig).find('{'), 1,
                                         R"({"model_type": "llama", )") +
            R"(, "tie_word_embeddings": false})");
  for (const bool is_newer : {false, true}) {
    Tensors stored = {{"model.vision_tower.weight", HostTensor::zeros(DType::kF32, {2})}};
    for (const auto& [name, tensor] : tensors_) {
      const bool is_head = name == "lm_head.weight";
      const std::string newer = is_head ? name : "model.language_model." + name.substr(6);
      stored[is_newer ? newer : "language_model." + name] = tensor;
    }
    write_tensors("model.safetensors", stored);
    const HuggingFaceModel model = read();
    ASSERT_EQ(model.weights.size(), tensors_.size());
    for (const auto& [name, tensor] : tensors_) {
      EXPECT_TRUE(std::ranges::equal(model.weights.at(name).bytes(), tensor.bytes())) << name;
    }
    ASSERT_EQ(model.warnings.size(), 1u);
    EXPECT_NE(model.warnings[0].find("vision_tower"), std::string::npos) << model.warnings[0];
  }
}

}  // namespace
}  // namespace tapml::frontend
