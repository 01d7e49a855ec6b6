#include "llm/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

Json with_template() {
  Json file = sample_json();
  file.set("post_processor", json_of(R"({"type": "Sequence", "processors": [
    {"type": "ByteLevel", "trim_offsets": false},
    {"type": "TemplateProcessing",
     "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<|x|>", "type_id": 0}}],
     "special_tokens": {"<s>": {"id": "<s>", "ids": [260], "tokens": ["<s>"]},
                        "<|x|>": {"id": "<|x|>", "ids": [261], "tokens": ["<|x|>"]}}}]})"));
  return file;
}

TEST(Tokenizer, EncodesTokensInTheText) {
  const Tokenizer tokenizer = make_tokenizer(sample_json());
  EXPECT_EQ(ids_of(tokenizer, "a<s>ab<|x|>"), (Ids{'a', 260, 256, 261}));
  EXPECT_EQ(ids_of(tokenizer, "\u00e9"), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(ids_of(tokenizer, ""), Ids{});
}

TEST(Tokenizer, TheTemplateGoesAroundTheText) {
  const Tokenizer tokenizer = make_tokenizer(with_template());
  EXPECT_EQ(ids_of(tokenizer, "ab"), (Ids{260, 256, 261}));
  EXPECT_EQ(ids_of(tokenizer, "ab", false), (Ids{256}));
  EXPECT_EQ(ids_of(tokenizer, ""), (Ids{260, 261}));
}

TEST(Tokenizer, DecodesWithAndWithoutSpecialTokens) {
  const Tokenizer tokenizer = make_tokenizer(sample_json());
  const Ids ids{260, 259, 'b', 261};
  EXPECT_EQ(tokenizer.decode(ids), " ab<|x|>");
  EXPECT_EQ(tokenizer.decode(ids, false), "<s> ab<|x|>");
  EXPECT_EQ(tokenizer.decode(Ids{'a', 5000, -1, 'b'}), "ab");
  EXPECT_EQ(tokenizer.decode(Ids{0xE4, 'a', 0xC3}), "\uFFFDa\uFFFD");
}

TEST(Tokenizer, AFuseAfterByteLevelChangesNothing) {
  Json file = sample_json();
  file.set(
      "decoder",
      json_of(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Fuse"}]})"));
  EXPECT_EQ(make_tokenizer(file).decode(Ids{259, 'b'}), " ab");
}

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer tokenizer = make_tokenizer(sample_json());
  EXPECT_EQ(tokenizer.vocab_size(), 262);
  EXPECT_EQ(tokenizer.token_to_id("\u0120a"), 259);
  EXPECT_EQ(tokenizer.token_to_id("<s>"), 260);
  EXPECT_EQ(tokenizer.token_to_id("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(261), "<|x|>");
  EXPECT_EQ(tokenizer.id_to_token(262), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(260));
  EXPECT_FALSE(tokenizer.is_special(261));
}

TEST(Tokenizer, GapsBetweenIdsStayEmpty) {
  Json file = sample_json();
  file.set("added_tokens", json_of(R"([{"id": 300, "content": "<far>", "single_word": false,
    "lstrip": false, "rstrip": false, "normalized": false, "special": true}])"));
  const Tokenizer tokenizer = make_tokenizer(file);
  EXPECT_EQ(tokenizer.vocab_size(), 301);
  EXPECT_EQ(tokenizer.id_to_token(299), std::nullopt);
  EXPECT_EQ(ids_of(tokenizer, "<far>"), (Ids{300}));
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const Tokenizer tokenizer = make_tokenizer(sample_json());
  const auto ids = tokenizer.encode("ab\xE4\xB8");
  ASSERT_FALSE(ids.has_value());
  EXPECT_EQ(ids.error().kind, ErrorKind::kUser);
  EXPECT_EQ(ids.error().message, "the text is not valid UTF-8");
  EXPECT_EQ(ids.error().where, "byte 2 of the text");
  EXPECT_EQ(ids.error().found, "an ill-formed sequence that starts with 0xE4");
}

TEST(StreamDecoder, NeverEmitsAPartOfACharacter) {
  const Tokenizer tokenizer = make_tokenizer(sample_json());
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(260), "");  // special: left out
  EXPECT_EQ(decoder.push(0x91), "");
  EXPECT_EQ(decoder.push(0x8D), "\U0001F44D");
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.push('b'),
            "\uFFFD"
            "b");
  EXPECT_EQ(decoder.push(0xE4), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

}  // namespace
}  // namespace tapml::tokenizer
