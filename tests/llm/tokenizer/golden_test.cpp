// Equality with the reference package on the strings under tests/golden/tokenizer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "io/json.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/tokenizer_folder.h"
#include "llm/tokenizer/unicode_utf8proc.h"
#include "support/golden_path.h"

namespace tapml {
namespace {

const std::filesystem::path kSource = TAPML_SOURCE_DIR;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::istringstream text(read_text(path));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) {
    auto json = parse_json(line, path.string());
    EXPECT_TRUE(json.has_value()) << path << ":" << lines.size() + 1;
    if (json) lines.push_back(std::move(*json));
  }
  return lines;
}

std::vector<int32_t> ids_of(const Json& line, std::string_view key) {
  std::vector<int32_t> ids;
  for (const Json& id : line.find(key)->items())
    ids.push_back(static_cast<int32_t>(id.as_integer()));
  return ids;
}

std::string stream_decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                          bool skip_special) {
  StreamDecoder decoder(tokenizer, skip_special);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.push(id);
    EXPECT_EQ(tokenizer::find_invalid_utf8(piece), std::string::npos);
    text += piece;
  }
  return text + decoder.finish();
}

class TokenizerGolden : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = testing::golden_path(std::string("tokenizer/") + GetParam());
    auto parsed = read_golden();
    ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
    tokenizer_ = std::make_unique<Tokenizer>(std::move(*parsed));
  }

  Result<Tokenizer> read_golden() const {
    if (tokenizer::tokenizer_file(folder_.string()) != "tokenizer.json") {
      return tokenizer::read_tokenizer(folder_.string());
    }
    // A folder without its own tokenizer is for the model of that name.
    auto file = folder_ / "tokenizer.json";
    if (!std::filesystem::exists(file)) file = kSource / "models" / GetParam() / "tokenizer.json";
    return Tokenizer::parse(read_text(file), file.string(), tokenizer::pcre2_regex_engine(),
                            &tokenizer::utf8proc_tables());
  }

  std::filesystem::path folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(TokenizerGolden, EncodesAndDecodesEveryString) {
  const std::vector<Json> lines = read_lines(folder_ / "strings.jsonl");
  ASSERT_EQ(lines.size(), 1000u);
  for (const Json& line : lines) {
    SCOPED_TRACE(line.find("text")->dump());
    const std::string& text = line.find("text")->as_string();
    const auto ids = tokenizer_->encode(text);
    ASSERT_TRUE(ids.has_value()) << ids.error().to_string();
    EXPECT_EQ(*ids, ids_of(line, "ids"));
    const auto bare = tokenizer_->encode(text, false);
    ASSERT_TRUE(bare.has_value()) << bare.error().to_string();
    EXPECT_EQ(*bare, ids_of(line, "ids_no_special"));
    EXPECT_EQ(tokenizer_->decode(*ids), line.find("decoded")->as_string());
    EXPECT_EQ(tokenizer_->decode(*ids, false), line.find("decoded_all")->as_string());
    EXPECT_EQ(stream_decode(*tokenizer_, *ids, true), line.find("decoded")->as_string());
    EXPECT_EQ(stream_decode(*tokenizer_, *ids, false), line.find("decoded_all")->as_string());
  }
}

TEST_P(TokenizerGolden, DecodesArbitraryIds) {
  const std::vector<Json> lines = read_lines(folder_ / "decode.jsonl");
  ASSERT_GE(lines.size(), 100u);
  for (const Json& line : lines) {
    SCOPED_TRACE(line.find("ids")->dump());
    const auto ids = ids_of(line, "ids");
    EXPECT_EQ(tokenizer_->decode(ids), line.find("decoded")->as_string());
    EXPECT_EQ(tokenizer_->decode(ids, false), line.find("decoded_all")->as_string());
    EXPECT_EQ(stream_decode(*tokenizer_, ids, true), line.find("decoded")->as_string());
    EXPECT_EQ(stream_decode(*tokenizer_, ids, false), line.find("decoded_all")->as_string());
  }
}

TEST_P(TokenizerGolden, IdsAndTokensAreInverse) {
  for (int32_t id = 0; id < tokenizer_->vocab_size(); ++id) {
    const auto token = tokenizer_->id_to_token(id);
    ASSERT_TRUE(token.has_value()) << id;
    EXPECT_EQ(tokenizer_->token_to_id(*token), id);
  }
  EXPECT_EQ(tokenizer_->id_to_token(static_cast<int32_t>(tokenizer_->vocab_size())), std::nullopt);
  EXPECT_EQ(tokenizer_->id_to_token(-1), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Reference, TokenizerGolden,
                         ::testing::Values("demo", "gpt2", "llama2", "metaspace", "partial",
                                           "qwen2", "rwkv", "spm_bpe", "spm_unigram", "tiktoken",
                                           "unicode", "unigram", "wordpiece"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
