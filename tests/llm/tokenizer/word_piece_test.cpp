#include "llm/tokenizer/word_piece.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"
#include "support/expect_error.h"

namespace tapml::tokenizer {
namespace {

constexpr const char* kModel = R"({"type": "WordPiece", "vocab": {
  "[UNK]": 0, "un": 1, "##able": 2, "##aff": 3, "una": 4, "##f": 5, "中": 6, "##é": 7, "é": 8},
  "max_input_chars_per_word": 8})";

Result<WordPieceModel> read(const Json& json) {
  return WordPieceModel::read(JsonObjectReader(json, "tokenizer.json", "model"));
}

Ids encode(std::string_view word, const Json& json = json_of(kModel)) {
  const auto model = read(json);
  EXPECT_TRUE(model) << (model ? "" : model.error().to_string());
  Ids ids = {77};  // of an earlier word
  if (model) model->encode(word, ids);
  ids.erase(ids.begin());
  return ids;
}

TEST(WordPiece, TakesTheLongestPieceEachTime) {
  EXPECT_EQ(encode("un"), Ids{1});
  EXPECT_EQ(encode("unable"), Ids{0});  // "una" comes first, and "##ble" is no token
  EXPECT_EQ(encode("unaff"), (Ids{4, 5, 5}));
  EXPECT_EQ(encode(""), Ids{});
}

TEST(WordPiece, PiecesAreWholeCharacters) {
  EXPECT_EQ(encode("中é"), (Ids{6, 7}));
  EXPECT_EQ(encode("éé"), (Ids{8, 7}));
  EXPECT_EQ(encode("中中"), Ids{0});
  EXPECT_EQ(encode("\U00020000"), Ids{0});
}

TEST(WordPiece, LongWordsAreUnknown) {
  EXPECT_EQ(encode("unffffff"), (Ids{1, 5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(encode("unfffffff"), Ids{0});
  // Characters count, not bytes.
  EXPECT_EQ(encode("éééééééé"), (Ids{8, 7, 7, 7, 7, 7, 7, 7}));
}

TEST(WordPiece, OtherPrefixesAndNone) {
  Json json = json_of(kModel);
  json.set("continuing_subword_prefix", Json::string("##a"));
  EXPECT_EQ(encode("unff", json), (Ids{1, 3}));
  EXPECT_EQ(encode("unble", json), (Ids{1, 2}));
  json.set("continuing_subword_prefix", Json::string(""));
  EXPECT_EQ(encode("un中", json), (Ids{1, 6}));
  json.set("continuing_subword_prefix", Json::string("a prefix longer than every token"));
  EXPECT_EQ(encode("un中", json), Ids{0});
}

TEST(WordPiece, RefusesAVocabularyWithoutTheUnknownToken) {
  Json json = json_of(kModel);
  json.set("unk_token", Json::string("<unk>"));
  const auto model = read(json);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("\"model.unk_token\" is not in the vocabulary"),
            std::string::npos);
  json = json_of(kModel);
  json.set("max_input_chars_per_word", Json::integer(-1));
  EXPECT_FALSE(read(json));
}

}  // namespace
}  // namespace tapml::tokenizer
