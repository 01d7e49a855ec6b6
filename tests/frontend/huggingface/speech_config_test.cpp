// Configurations of models that read sound: defaults, fields that are refused, and weights.
#include <gtest/gtest.h>

#include "frontend/huggingface/config.h"
#include "io/host/files.h"
#include "support/expect_error.h"
#include "support/golden_path.h"

namespace tapml::frontend {
namespace {

std::string golden_text() {
  return unwrap(read_text_file(testing::golden_path("speech/whisper/config.json")));
}

void refuses_change(const std::string& from, const std::string& to,
                    const std::vector<std::string>& parts) {
  std::string text = golden_text();
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  testing::expect_user_error([&] { parse_config(text, "config.json"); }, parts);
}

TEST(SpeechConfig, FieldsThatAreRefused) {
  refuses_change("\"decoder_attention_heads\": 6", "\"decoder_attention_heads\": 5",
                 {"d_model", "a multiple of 5"});
  refuses_change("\"encoder_attention_heads\": 4", "\"encoder_attention_heads\": 0",
                 {"encoder_attention_heads"});
  refuses_change("\"num_mel_bins\": 80", "\"num_mel_bins\": \"80\"", {"num_mel_bins"});
  refuses_change("\"max_source_positions\": 50", "\"max_source_positions\": -1",
                 {"max_source_positions"});
  refuses_change("\"gelu\"", "\"mish\"", {"activation_function", "gelu"});
  refuses_change("\"vocab_size\"", "\"quantization_config\": {}, \"vocab_size\"",
                 {"quantization_config"});
}

TEST(SpeechConfig, WarnsOfWhatIsIgnored) {
  std::string text = golden_text();
  const std::string old = "\"scale_embedding\": false";
  text.replace(text.find(old), old.size(), "\"scale_embedding\": true");
  const HuggingFaceConfig config = parse_config(text, "config.json");
  ASSERT_EQ(config.warnings.size(), 1U);
  EXPECT_NE(config.warnings[0].find("scale_embedding"), std::string::npos);
}

TEST(SpeechConfig, SaysWhatTheEncoderReadsAndFills) {
  const HuggingFaceConfig config = parse_config(golden_text(), "config.json");
  const ModelInterface model = unwrap(model_interface_of(config.module({}).all_attrs()));
  const ModelFunction* encode = model.find_function("encode");
  ASSERT_TRUE(encode);
  EXPECT_EQ(model_function_text(*encode), "encode(features, slots, fixed, weights) -> (fixed)");
  EXPECT_EQ(model_function_text(*model.find_function("decode")),
            "decode(tokens, page_table, lengths, slots, paged, fixed, weights) -> (logits, paged, "
            "fixed)");
  ASSERT_EQ(model.state.size(), 8U);
  EXPECT_EQ(state_text(model.state[2]), "cross_k.0: fixed f32[50, 6, 8]");
}

// Absent fields are those of transformers' WhisperConfig.
TEST(SpeechConfig, Defaults) {
  const HuggingFaceConfig config =
      parse_config(R"({"architectures": ["WhisperForConditionalGeneration"]})", "config.json");
  EXPECT_EQ(config.model.vocabulary, 51865);
  EXPECT_EQ(config.model.context, 448);
  EXPECT_EQ(config.model.layers, 4);
  EXPECT_TRUE(config.model.tied_embeddings);
  EXPECT_EQ(config.model.encoder->features, (Shape{80, 3000}));
  EXPECT_EQ(config.eos, std::vector<int32_t>{50256});
}

}  // namespace
}  // namespace tapml::frontend
