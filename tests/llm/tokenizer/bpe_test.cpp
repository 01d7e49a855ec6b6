#include "llm/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

BpeModel read_model(const Json& json, BpeUnit unit = BpeUnit::kByte) {
  auto model = BpeModel::read(JsonObjectReader(json, "tokenizer.json", "model"), unit);
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
  // "b c" has the lowest rank, so "ab" is never merged here.
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

TEST(Bpe, BytesWithoutATokenAreSkipped) {
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

constexpr std::string_view kCharacters = R"({"type": "BPE", "unk_token": "U", "byte_fallback": true,
    "vocab": {"U": 0, "a": 1, "\u00e9": 2, "\u4f60": 3, "a\u00e9": 4, "<0xE5>": 5, "<0xA5>": 6,
              "<0xBD>": 7, "<0x62>": 8, "UU": 9, "<0x62>a": 10},
    "merges": ["a \u00e9", "U U", "<0x62> a"])";

BpeModel characters(std::string_view rest = "}") {
  return read_model(json_of(std::string(kCharacters) + std::string(rest)), BpeUnit::kCharacter);
}

TEST(Bpe, CharactersMerge) {
  const BpeModel model = characters();
  EXPECT_EQ(encode(model, "a\u00e9\u4f60a"), (Ids{4, 3, 1}));
  EXPECT_EQ(encode(model, ""), Ids{});
}

TEST(Bpe, UnknownCharactersBecomeTheirBytes) {
  const BpeModel model = characters();
  EXPECT_EQ(encode(model, "\u597d"), (Ids{5, 6, 7}));
  // Bytes are symbols like any others.
  EXPECT_EQ(encode(model, "ba"), (Ids{10}));
}

TEST(Bpe, UnknownCharactersWithoutBytesWait) {
  // "x" and the emoji lack bytes; the bytes of "b" do not affect them.
  const BpeModel each = characters();
  EXPECT_EQ(encode(each, "xb\u00e9"), (Ids{8, 0, 2}));
  EXPECT_EQ(encode(each, "x\U0001F600y"), (Ids{9, 0}));  // two unknown characters merge by "U U"
  const BpeModel fused = characters(", \"fuse_unk\": true}");
  EXPECT_EQ(encode(fused, "x\U0001F600y"), (Ids{0}));
  EXPECT_EQ(encode(fused, "xby\u00e9"), (Ids{8, 0, 2}));
  EXPECT_EQ(encode(fused, "xay"), (Ids{0, 1, 0}));
  Json without = json_of(std::string(kCharacters) + "}");
  without.set("unk_token", Json::null());
  EXPECT_EQ(encode(read_model(without, BpeUnit::kCharacter), "xay"), (Ids{1}));
}

TEST(Bpe, WholeWordsOfCharactersGoFirstWhereMergesAreIgnored) {
  const BpeModel model = characters(", \"ignore_merges\": true}");
  EXPECT_EQ(encode(model, "<0x62>"), (Ids{8}));
  EXPECT_EQ(encode(model, "UU"), (Ids{9}));
}

// Merges by the definition: repeatedly the first of the pairs with the lowest rank.
std::vector<std::string> merge_naively(
    std::vector<std::string> parts,
    const std::vector<std::pair<std::string, std::string>>& merges) {
  for (bool merged = true; std::exchange(merged, false);) {
    for (const auto& [left, right] : merges) {
      for (size_t i = 0; i + 1 < parts.size() && !merged; ++i) {
        if (parts[i] != left || parts[i + 1] != right) continue;
        parts[i] += right;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
      }
      if (merged) break;
    }
  }
  return parts;
}

// Long texts are split where no merge can cross; the result must not change.
TEST(Bpe, LongTextsMergeByTheDefinition) {
  const std::vector<std::string> letters = {"a", "b", "\u00e9", "\u4f60", "_"};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "merges");
    std::vector<std::string> tokens = letters;
    std::vector<std::pair<std::string, std::string>> merges;
    std::set<std::string> known(tokens.begin(), tokens.end());
    for (int i = 0; i < 10; ++i) {
      const auto size = static_cast<uint32_t>(tokens.size());
      const std::string left = tokens[random.below(size)], right = tokens[random.below(size)];
      if (!known.insert(left + right).second) continue;
      tokens.push_back(left + right);
      merges.emplace_back(left, right);
    }
    Json vocab = Json::object(), list = Json::array();
    for (size_t i = 0; i < tokens.size(); ++i) {
      vocab.set(tokens[i], Json::integer(static_cast<int64_t>(i)));
    }
    for (const auto& [left, right] : merges) list.push(Json::string(left + " " + right));
    Json json = Json::object();
    json.set("vocab", std::move(vocab));
    json.set("merges", std::move(list));
    std::string text;
    std::vector<std::string> parts;
    for (int i = 0; i < 200; ++i) {
      parts.push_back(letters[random.below(static_cast<uint32_t>(letters.size()))]);
      text += parts.back();
    }
    Ids expected;
    for (const std::string& part : merge_naively(parts, merges)) {
      const auto at = std::find(tokens.begin(), tokens.end(), part) - tokens.begin();
      expected.push_back(static_cast<int32_t>(at));
    }
    EXPECT_EQ(encode(read_model(json, BpeUnit::kCharacter), text), expected) << "seed " << seed;
  }
}

TEST(Bpe, MergesOfBytesReachAnywhere) {
  // "<0x62>" then "a" join although no character does.
  const BpeModel model = characters();
  const std::string text = std::string(70, 'a') + "ba";
  Ids expected(70, 1);
  expected.push_back(10);
  EXPECT_EQ(encode(model, text), expected);
}

TEST(Bpe, ALaterMergeOfTheSamePairWins) {
  const BpeModel model = read_model(json_of(
      R"({"vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}, "merges": ["a b", "b c", "a b"]})"));
  EXPECT_EQ(encode(model, "abc"), (Ids{0, 4}));
}

TEST(Bpe, SkipsTheVersionLineOfAMergesFile) {
  const Json json = two_letter_model(R"("merges": ["#version: 0.2", "a b"], "unk_token": "U")");
  for (BpeUnit unit : {BpeUnit::kByte, BpeUnit::kCharacter}) {
    EXPECT_EQ(encode(read_model(json, unit), "ab"), (Ids{2}));
  }
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
