// SentencePiece models made by hand, and other files of older tokenizers.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "io/host/files.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/tokenizer_folder.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

using testing::expect_parts;
using testing::TempFolder;
using testing::write_bytes;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string number(int field, uint64_t value) { return varint(field << 3) + varint(value); }

std::string bytes(int field, const std::string& text) {
  return varint(field << 3 | 2) + varint(text.size()) + text;
}

std::string piece(const std::string& text, float score, int kind = 1) {
  std::string out = bytes(1, text) + varint(2 << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(score);
  for (int i = 0; i < 4; ++i) out += static_cast<char>(bits >> (8 * i));
  return bytes(1, out + (kind == 1 ? "" : number(3, kind)));
}

const std::string kBegin = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
const std::string kLetters = piece("a", -2) + piece("b", -2) + piece("\xE2\x96\x81", -3);
// Pairs, no normalization.
const std::string kPairs = bytes(2, number(3, 2)) + bytes(3, number(4, 0));
const std::string kModel =
    kBegin + kLetters + piece("\xE2\x96\x81\x61", -1) + piece("ab", -0.5) + kPairs;

Result<Tokenizer> parse(const std::string& model, const std::string& config = "") {
  return Tokenizer::parse_sentencepiece(model, "m", tokenizer::pcre2_regex_engine(),
                                        {{config, "tokenizer_config.json"}, {}, {}});
}

std::vector<int32_t> ids(const std::string& text, const std::string& config = "") {
  const auto made = parse(kModel, config);
  EXPECT_TRUE(made) << made.error().to_string();
  return *made->encode(text);
}

using Ids = std::vector<int32_t>;

TEST(SentencePiece, ControlPiecesAreFoundInTexts) {
  EXPECT_EQ(ids("a"), (Ids{1, 6}));
  EXPECT_EQ(ids("ab"), (Ids{1, 5, 7}));  // the better score comes first
  EXPECT_EQ(ids("a</s>a"), (Ids{1, 6, 2, 6}));
  EXPECT_EQ(ids("<unk>"), (Ids{1, 0}));
  EXPECT_EQ(ids("axya"), (Ids{1, 6, 0, 3}));  // neighbors without a piece are one
  const auto made = parse(kModel);
  EXPECT_EQ(made->decode(Ids{1, 6, 2, 6}), "a a");
  EXPECT_EQ(made->decode(Ids{1, 6, 2, 6}, false), "<s> a</s> a");
}

TEST(SentencePiece, SettingsOfTheFolderCount) {
  EXPECT_EQ(ids("a</s>a", R"({"legacy": false})"), (Ids{1, 6, 2, 3}));
  EXPECT_EQ(ids("a", R"({"add_bos_token": false})"), (Ids{6}));
  EXPECT_EQ(ids("a", R"({"add_eos_token": true, "eos_token": "</s>"})"), (Ids{1, 6, 2}));
  EXPECT_EQ(ids("[X]a", R"({"added_tokens_decoder": {"9": {"content": "[X]"}}})"), (Ids{1, 9, 6}));
}

TEST(SentencePiece, RefusesOtherFiles) {
  struct Case {
    std::string model;
    std::vector<std::string> parts;
  };
  const std::string nan = piece("x", std::numeric_limits<float>::quiet_NaN());
  for (const Case& one : {
           Case{"", {"m is not a SentencePiece model", "download"}},
           Case{"x", {"not a SentencePiece model"}},
           Case{kModel.substr(0, kModel.size() - 1), {"not a SentencePiece model"}},
           Case{bytes(1, "\xFF"), {"not a SentencePiece model"}},
           Case{kBegin + piece("\xFF", 0), {"piece 3 is not a text"}},
           Case{kBegin + piece("", 0), {"piece 3 is not a text"}},
           Case{kBegin + piece("<s>", 0), {"piece 3 has the text of another piece"}},
           Case{kBegin + nan, {"piece 3 has no score", "NaN"}},
           Case{kBegin + piece("x", 0, 9), {"not a SentencePiece model"}},
           Case{kLetters, {"no unknown piece"}},
           Case{kModel + bytes(2, number(3, 3)), {"cuts words or characters"}},
           Case{kModel + bytes(2, number(24, 1)), {"treat_whitespace_as_suffix"}},
           Case{kModel + bytes(2, number(35, 1)), {"lacks the piece of a byte", "<0x00>"}},
           Case{kModel + bytes(3, bytes(2, "abc")), {"map of characters", "damaged"}},
           Case{kModel + bytes(3, bytes(2, std::string("\x04\0\0\0abcdx", 9))), {"damaged"}},
       }) {
    const auto made = parse(one.model);
    ASSERT_FALSE(made) << one.parts[0];
    EXPECT_EQ(made.error().kind, ErrorKind::kUser);
    expect_parts(made.error(), one.parts);
  }
}

TEST(TokenizerFolder, TellsFilesOfOneNameApart) {
  TempFolder folder;
  write_bytes(folder / "tokenizer.model", kModel);
  auto made = tokenizer::read_tokenizer(folder.path());
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(*made->encode("a"), (Ids{1, 6}));
  const auto source = std::string(TAPML_SOURCE_DIR) + "/tests/golden/tokenizer/tiktoken/";
  std::filesystem::copy_file(source + "tiktoken.model", folder / "tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  made = tokenizer::read_tokenizer(folder.path());
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->decode(*made->encode("a text\xF0\x9F\x98\x80")), "a text\xF0\x9F\x98\x80");
}

TEST(TokenizerFolder, RefusesBrokenVocabularies) {
  TempFolder folder;
  const auto refuses = [&](const std::vector<std::string>& parts) {
    const auto made = tokenizer::read_tokenizer(folder.path());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::kUser);
    expect_parts(made.error(), parts);
  };
  write_bytes(folder / "vocab.json", R"({"a": 0, "b": 1})");
  refuses({"merges.txt"});
  write_bytes(folder / "merges.txt", "#version: 0.2\na b\n");
  refuses({"merges[0]", "\"ab\"", "not in the vocabulary"});
  write_bytes(folder / "vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  const auto made = tokenizer::read_tokenizer(folder.path());
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(*made->encode("abba"), (Ids{2, 1, 0}));
  write_bytes(folder / "tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  refuses({"CLIPTokenizer", "GPT2Tokenizer or Qwen2Tokenizer", "save_pretrained"});
  write_bytes(folder / "tiktoken.model", "YQ== 0\nYg== x\n");
  refuses({"tiktoken.model:2", "in base64 and its rank"});
  write_bytes(folder / "tiktoken.model", "YQ== 0\nYQ== 1\n");
  refuses({"tiktoken.model:2", "the bytes of another token"});
  write_bytes(folder / "tiktoken.model", "YQ== 0\n");
  refuses({"no token for the byte 0 alone"});
}

}  // namespace
}  // namespace tapml
