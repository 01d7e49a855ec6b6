#include "llm/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

BpeModel read_model(const Json& json) {
  auto model = BpeModel::read(JsonObjectReader(json, "tokenizer.json", "model"));
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().to_string());
  if (!model) std::abort();
  return std::move(*model);
}

Ids encode(const BpeModel& model, std::string_view word) {
  BpeModel::Scratch scratch;
  Ids ids, again;
  model.encode(word, scratch, ids);
  model.encode(word, scratch, again);
  EXPECT_EQ(ids, again) << "the cache changes the result";
  return ids;
}

Json two_letter_model(std::string_view rest) {
  return json_of(
      "{\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"U\": 3, \"aab\": 4}, " +
      std::string(rest) + "}");
}

TEST(Bpe, MergesTheLowestRankFirst) {
  const BpeModel model = read_model(sample_model());
  // "b c" has the lowest rank, so that "ab" is never made here.
  EXPECT_EQ(encode(model, "abc"), (Ids{'a', 257}));
  EXPECT_EQ(encode(model, "abab"), (Ids{256, 256}));
  EXPECT_EQ(encode(model, " abc"), (Ids{259, 257}));
  EXPECT_EQ(encode(model, ""), Ids{});
}

TEST(Bpe, MergesEqualPairsFromTheLeft) {
  const BpeModel model = read_model(
      json_of(R"({"vocab": {"a": 0, "aa": 1, "aaaa": 2}, "merges": ["a a", ["aa", "aa"]]})"));
  EXPECT_EQ(encode(model, "aaa"), (Ids{1, 0}));
  EXPECT_EQ(encode(model, "aaaaaaa"), (Ids{2, 1, 0}));
}

TEST(Bpe, ALongWordIsMergedLikeAShortOne) {
  const BpeModel model =
      read_model(json_of(R"({"vocab": {"a": 0, "aa": 1, "aaaa": 2}, "merges": ["a a", "aa aa"]})"));
  EXPECT_EQ(encode(model, std::string(400000, 'a')), Ids(100000, 2));
}

TEST(Bpe, WholeWordsGoFirstWhereMergesAreIgnored) {
  Json json = sample_model();
  json.set("ignore_merges", Json::boolean(true));
  const BpeModel model = read_model(json);
  EXPECT_EQ(encode(model, "abc"), (Ids{258}));
  EXPECT_EQ(encode(model, "abcd"), (Ids{'a', 257, 'd'}));
}

TEST(Bpe, BytesWithoutTokenAreLeftOut) {
  const BpeModel model = read_model(two_letter_model(R"("merges": ["a b"])"));
  EXPECT_EQ(encode(model, "a?b!"), (Ids{2}));
}

TEST(Bpe, BytesWithoutTokenBecomeTheUnknownToken) {
  const BpeModel each = read_model(two_letter_model(R"("merges": ["a b"], "unk_token": "U")"));
  EXPECT_EQ(encode(each, "a??b?"), (Ids{0, 3, 3, 1, 3}));
  const BpeModel fused =
      read_model(two_letter_model(R"("merges": ["a b"], "unk_token": "U", "fuse_unk": true)"));
  EXPECT_EQ(encode(fused, "a??b?"), (Ids{0, 3, 1, 3}));
}

TEST(Bpe, ALaterMergeOfTheSamePairWins) {
  const BpeModel model = read_model(json_of(
      R"({"vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}, "merges": ["a b", "b c", "a b"]})"));
  EXPECT_EQ(encode(model, "abc"), (Ids{0, 4}));
}

TEST(Bpe, SkipsTheVersionLineOfAMergesFile) {
  const BpeModel model = read_model(two_letter_model(R"("merges": ["#version: 0.2", "a b"])"));
  EXPECT_EQ(encode(model, "ab"), (Ids{2}));
}

TEST(MergeTable, FindsWhatWasInserted) {
  MergeTable table;
  EXPECT_EQ(table.find(1, 2), nullptr);
  for (int32_t i = 0; i < 5000; ++i) table.insert(i, i * 7 % 5000, {uint32_t(i), i + 1});
  for (int32_t i = 0; i < 5000; ++i) {
    const auto* merge = table.find(i, i * 7 % 5000);
    ASSERT_NE(merge, nullptr);
    EXPECT_EQ(merge->rank, uint32_t(i));
    EXPECT_EQ(merge->result, i + 1);
  }
  EXPECT_EQ(table.find(1, 8), nullptr);
}

}  // namespace
}  // namespace tapml::tokenizer
