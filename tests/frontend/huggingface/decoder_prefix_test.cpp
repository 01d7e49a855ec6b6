// What the text of a decoder begins with that follows an encoder.
#include "frontend/huggingface/decoder_prefix.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/golden_path.h"

namespace tapml::frontend {
namespace {

using Tokens = std::vector<int32_t>;

Tokens prefix_of(const std::string& text) { return parse_decoder_prefix(text, "g.json"); }

TEST(DecoderPrefix, OfPublishedForms) {
  const std::string several =
      R"("decoder_start_token_id": 5, "lang_to_id": {"<|en|>": 6, "<|de|>": 7},
         "task_to_id": {"transcribe": 8, "translate": 9}, "no_timestamps_token_id": 10)";
  EXPECT_EQ(prefix_of("{" + several + "}"), (Tokens{5, 6, 8, 10}));
  EXPECT_EQ(prefix_of("{" + several + R"(, "language": "de", "task": "translate"})"),
            (Tokens{5, 7, 9, 10}));
  EXPECT_EQ(prefix_of("{" + several + R"(, "language": "<|de|>"})"), (Tokens{5, 7, 8, 10}));
  // The first releases, and those of English alone.
  EXPECT_EQ(prefix_of(R"({"decoder_start_token_id": 5, "forced_decoder_ids": [[1, 6], [2, 8]]})"),
            (Tokens{5, 6, 8}));
  EXPECT_EQ(prefix_of(R"({"decoder_start_token_id": 5, "forced_decoder_ids": [[1, 10]],
                          "no_timestamps_token_id": 10})"),
            (Tokens{5, 10}));
  EXPECT_EQ(
      prefix_of(R"({"decoder_start_token_id": 5, "forced_decoder_ids": [[1, null], [2, 8]]})"),
      (Tokens{5}));
  EXPECT_EQ(prefix_of(R"({"eos_token_id": 5})"), Tokens());
  EXPECT_EQ(read_decoder_prefix(testing::golden_path("speech/whisper")), (Tokens{96, 97, 99, 101}));
  EXPECT_EQ(read_decoder_prefix(testing::golden_path("speech/whisper_one")), Tokens());
}

TEST(DecoderPrefix, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> all[] = {
      {R"([])", "g.json"},
      {R"({"decoder_start_token_id": -1})", "decoder_start_token_id"},
      {R"({"decoder_start_token_id": "5"})", "decoder_start_token_id"},
      {R"({"decoder_start_token_id": 5, "lang_to_id": []})", "lang_to_id"},
      {R"({"decoder_start_token_id": 5, "lang_to_id": {"<|de|>": 7}})", "<|en|>"},
      {R"({"decoder_start_token_id": 5, "lang_to_id": {"<|en|>": 4294967296}})", "<|en|>"},
      {R"({"decoder_start_token_id": 5, "forced_decoder_ids": [1, 2]})", "forced_decoder_ids[0]"},
      {R"({"decoder_start_token_id": 5, "forced_decoder_ids": [[1, 2], [2, "x"]]})",
       "forced_decoder_ids[1]"},
      {R"({"decoder_start_token_id": 5, "no_timestamps_token_id": 1e99})",
       "no_timestamps_token_id"},
  };
  for (const auto& [text, part] : all) {
    SCOPED_TRACE(text);
    testing::expect_user_error([&] { prefix_of(text); }, {part});
  }
}

}  // namespace
}  // namespace tapml::frontend
