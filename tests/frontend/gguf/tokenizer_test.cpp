// Tokenizers of GGUF files against the ids of SentencePiece and of the tokenizers package.
#include "frontend/gguf/tokenizer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "frontend/gguf/config.h"
#include "frontend/gguf/model.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/unicode_utf8proc.h"
#include "support/demo_vocabulary.h"
#include "support/gguf_image.h"
#include "support/golden_path.h"

namespace tapml::frontend {
namespace {

using ::tapml::testing::GgufImage;
using ::tapml::testing::golden_path;

Tokenizer tokenizer_of(const GgufTokenizer& texts) {
  return unwrap(Tokenizer::parse(texts.tokenizer, "tokenizer.json", tokenizer::pcre2_regex_engine(),
                                 &tokenizer::utf8proc_tables(),
                                 {{texts.config, "tokenizer_config.json"}, {}, {}}));
}

GgufTokenizer texts_of(const std::string& image) {
  const GgufFile file = unwrap(parse_gguf(std::as_bytes(std::span(image)), nullptr, "m.gguf"));
  const GgufFields fields(file, "m.gguf");
  return {gguf_tokenizer(fields), gguf_tokenizer_config(fields)};
}

std::vector<Json> lines_of(const std::string& path) {
  std::istringstream text(unwrap(read_text_file(path)));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(unwrap(parse_json(line, path)));
  return lines;
}

std::vector<int32_t> ids_of(const Json& line, std::string_view key) {
  std::vector<int32_t> ids;
  for (const Json& id : line.find(key)->items()) {
    ids.push_back(static_cast<int32_t>(id.as_integer()));
  }
  return ids;
}

TEST(GgufTokenizer, ScoresMergeAsSentencePieceDoes) {
  const Tokenizer tokenizer = tokenizer_of(open_gguf_tokenizer(golden_path("gguf/scored.gguf")));
  EXPECT_EQ(tokenizer.vocab_size(), 600);
  const std::vector<Json> lines = lines_of(golden_path("gguf/scored.jsonl"));
  ASSERT_GT(lines.size(), 200u);
  for (const Json& line : lines) {
    const std::string& text = line.find("text")->as_string();
    const std::vector<int32_t> ids = ids_of(line, "ids");
    EXPECT_EQ(unwrap(tokenizer.encode(text, false)), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids), line.find("decoded")->as_string()) << text;
  }
  // It begins with the token of that role, which SentencePiece adds where it is told to.
  EXPECT_EQ(unwrap(tokenizer.encode("a")).front(), tokenizer.token_to_id("<s>"));
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(*tokenizer.token_to_id("<|mark|>")));
}

// The demo model's tokenizer.json as the file that its converter would write.
TEST(GgufTokenizer, ByteLevelEqualsTheTokenizerItWasMadeOf) {
  const auto [tokens, types, merges] = testing::demo_vocabulary();
  GgufImage image;
  image.text("general.architecture", "llama")
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "llama-bpe")
      .texts("tokenizer.ggml.tokens", tokens)
      .integers("tokenizer.ggml.token_type", types)
      .texts("tokenizer.ggml.merges", merges)
      .integer("tokenizer.ggml.bos_token_id", 2046)
      .integer("tokenizer.ggml.eos_token_id", 2047)
      .text("tokenizer.chat_template", "{{ bos_token }}");
  const GgufTokenizer texts = texts_of(image.image());
  const Tokenizer tokenizer = tokenizer_of(texts);
  for (const Json& line : lines_of(golden_path("tokenizer/demo/strings.jsonl"))) {
    const std::string& text = line.find("text")->as_string();
    ASSERT_EQ(unwrap(tokenizer.encode(text)), ids_of(line, "ids")) << text;
    ASSERT_EQ(tokenizer.decode(ids_of(line, "ids")), line.find("decoded")->as_string()) << text;
  }
  const Json config = unwrap(parse_json(texts.config, "tokenizer_config.json"));
  EXPECT_EQ(config.find("chat_template")->as_string(), "{{ bos_token }}");
  EXPECT_EQ(config.find("bos_token")->as_string(), "<|begin_of_text|>");
}

TEST(GgufTokenizer, EndTokensAreOfTextsAndTurns) {
  const auto ends = [](GgufImage image) {
    const std::string bytes = image.text("general.architecture", "llama").image();
    const GgufFile file = unwrap(parse_gguf(std::as_bytes(std::span(bytes)), nullptr, "m.gguf"));
    return gguf_end_tokens(GgufFields(file, "m.gguf"));
  };
  EXPECT_EQ(ends(GgufImage()), std::vector<int32_t>{});
  EXPECT_EQ(ends(GgufImage().integer("tokenizer.ggml.eos_token_id", 7)), std::vector<int32_t>{7});
  // A turn's end without a key, known by its text; the same text of another kind of token is none.
  EXPECT_EQ(ends(GgufImage()
                     .integer("tokenizer.ggml.eos_token_id", 0)
                     .integer("tokenizer.ggml.eot_token_id", 2)
                     .texts("tokenizer.ggml.tokens", {"a", "<|im_end|>", "b", "<|eot_id|>"})
                     .integers("tokenizer.ggml.token_type", {1, 3, 1, 1})),
            (std::vector<int32_t>{0, 2, 1}));
}

}  // namespace
}  // namespace tapml::frontend
