// Configurations of models that read images: fields that are refused, and names of weights.
#include <gtest/gtest.h>

#include "frontend/huggingface/config.h"
#include "frontend/huggingface/weights.h"
#include "io/host/files.h"
#include "models/decoder.h"
#include "support/expect_error.h"
#include "support/golden_path.h"
#include "text/printer.h"

namespace tapml::frontend {
namespace {

// The text of a golden configuration in which `from` is `to`.
std::string changed_text(const std::string& name, const std::string& from, const std::string& to) {
  std::string text =
      unwrap(read_text_file(testing::golden_path("images/" + name + "/config.json")));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void refuses_change(const std::string& name, const std::string& from, const std::string& to,
                    const std::vector<std::string>& parts) {
  const std::string text = changed_text(name, from, to);
  testing::expect_user_error([&] { parse_config(text, "config.json"); }, parts);
}

TEST(ImageConfig, FieldsThatAreRefused) {
  refuses_change("llava", "\"vision_feature_layer\": -2", "\"vision_feature_layer\": [-2, 1]",
                 {"vision_feature_layer", "one layer"});
  refuses_change("llava", "\"vision_feature_layer\": -2", "\"vision_feature_layer\": 4",
                 {"vision_feature_layer", "-4", "3"});
  refuses_change("llava", "\"default\"", "\"cls\"", {"vision_feature_select_strategy", "full"});
  refuses_change("llava_siglip", "\"full\"", "\"default\"",
                 {"vision_feature_select_strategy", "class"});
  refuses_change("llava", "\"image_token_index\": 96", "\"image_token_index\": 97",
                 {"image_token_index", "vocabulary", "below 97"});
  refuses_change("llava", "clip_vision_model", "pixtral",
                 {"vision_config.model_type", "clip_vision_model", "siglip_vision_model"});
  refuses_change("llava", "\"hidden_size\": 40", "\"hidden_size\": 42",
                 {"vision_config.hidden_size", "num_attention_heads"});
  refuses_change("llava", "\"patch_size\": 7", "\"patch_size\": 22", {"vision_config.patch_size"});
  refuses_change("llava", "\"image_size\": 21", "\"image_size\": [21, 21]",
                 {"vision_config.image_size"});
  refuses_change("smolvlm", "\"scale_factor\": 3", "\"scale_factor\": 4",
                 {"scale_factor", "a divisor of 6"});
  for (const char* rows : {"5", "16"}) {
    refuses_change("gemma3", "\"mm_tokens_per_image\": 9",
                   "\"mm_tokens_per_image\": " + std::string(rows),
                   {"mm_tokens_per_image", "the square of a divisor of 6"});
  }
  refuses_change("qwen3_vl", "\"num_position_embeddings\": 36", "\"num_position_embeddings\": 25",
                 {"num_position_embeddings", "the square of a multiple of 2"});
  refuses_change("qwen3_vl", "\"depth\": 3", "\"depth\": 2", {"deepstack_visual_indexes"});
  refuses_change("qwen3_vl", "\"num_heads\": 2", "\"num_heads\": 16",
                 {"vision_config.hidden_size", "a multiple of 64"});
  refuses_change("qwen3_vl", "\"out_hidden_size\": 48", "\"out_hidden_size\": 64",
                 {"out_hidden_size", "48"});
  refuses_change("qwen3_vl", "qwen3_vl_text", "qwen3", {"text_config.model_type", "qwen3_vl_text"});
}

TEST(ImageConfig, LanguageModelsThatTakeNoEmbeddings) {
  refuses_change("llava", "\"model_type\": \"llama\"", "\"model_type\": \"qwen2\"",
                 {"text_config", "qwen2", "a language model like \"llama\""});
}

// In Gemma 3 they see each other, in LLaVA not, whatever the language model is.
TEST(ImageConfig, TokensOfAnImageSeeEachOtherWhereTheModelSaysSo) {
  const auto sees_ahead = [](const std::string& text) {
    const HuggingFaceConfig config = parse_config(text, "config.json");
    const std::string program = text::print(models::build_decoder(config.model, {}));
    return program.find("paged_attention_ahead") != std::string::npos;
  };
  const std::string gemma3 = changed_text("gemma3", "gemma3", "gemma3");
  EXPECT_TRUE(sees_ahead(gemma3));
  EXPECT_FALSE(sees_ahead(changed_text("llava", "\"model_type\": \"llama\"",
                                       "\"head_dim\": 8, \"model_type\": \"gemma3_text\"")));
}

TEST(ImageConfig, WeightsAreThoseOfTheLayersInUse) {
  const HuggingFaceConfig config =
      parse_config(changed_text("llava", "\"llava\"", "\"llava\""), "config.json");
  const auto has = [&](const std::string& name) {
    return std::ranges::count(models::decoder_weights(config.model), name,
                              &models::WeightSpec::name) == 1;
  };
  EXPECT_TRUE(has("model.vision_tower.encoder.layers.1.mlp.fc2.bias"));
  EXPECT_FALSE(has("model.vision_tower.encoder.layers.2.mlp.fc2.bias"));
  EXPECT_FALSE(has("model.vision_tower.post_layernorm.weight"));
}

// The names of published files, before and since transformers 5.
TEST(ImageConfig, NamesOfWeightsInFiles) {
  const auto stored = [](const std::string& in_file, const std::string& name) {
    WeightFiles files;
    files.tensors[in_file] = HostTensor();
    return files.stored_name(name);
  };
  const std::string class_name = "model.vision_tower.embeddings.class_embedding";
  for (const char* name :
       {"vision_tower.vision_model.embeddings.class_embedding",
        "vision_tower.embeddings.class_embedding", "model.vision_tower.embeddings.class_embedding",
        "model.vision_tower.vision_model.embeddings.class_embedding"}) {
    EXPECT_EQ(stored(name, class_name), name);
  }
  for (const char* name : {"language_model.model.norm.weight", "model.language_model.norm.weight",
                           "model.text_model.norm.weight"}) {
    EXPECT_EQ(stored(name, "model.norm.weight"), name);
  }
  EXPECT_EQ(stored("multi_modal_projector.linear_1.weight",
                   "model.multi_modal_projector.linear_1.weight"),
            "multi_modal_projector.linear_1.weight");
}

}  // namespace
}  // namespace tapml::frontend
