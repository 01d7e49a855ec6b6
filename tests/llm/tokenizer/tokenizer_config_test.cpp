// The effects of the files beside a tokenizer.json, in addition to
// tests/golden/tokenizer/parts.jsonl.
#include "llm/tokenizer/tokenizer_config.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

Result<Tokenizer> parse_with(const Json& file, const std::string& config,
                             const std::string& added = "") {
  return Tokenizer::parse(file.dump(1), "tokenizer.json", pcre2_regex_engine(), &utf8proc_tables(),
                          {.config = {config, "tokenizer_config.json"},
                           .special_tokens = {},
                           .added_tokens = {added, "added_tokens.json"}});
}

Json with_template(const char* single) {
  Json file = sample_json();
  file.set("post_processor",
           json_of(R"({"type": "TemplateProcessing", "single": [)" + std::string(single) +
                   R"({"Sequence": {"id": "A", "type_id": 0}}], "special_tokens":
       {"<s>": {"id": "<s>", "ids": [260], "tokens": ["<s>"]}}})"));
  return file;
}

constexpr const char* kBos = R"({"SpecialToken": {"id": "<s>", "type_id": 0}}, )";

TEST(TokenizerConfig, FlagsReplaceAMissingTemplate) {
  for (const char* post : {"null", R"({"type": "ByteLevel", "trim_offsets": false})"}) {
    Json file = sample_json();
    file.set("post_processor", json_of(post));
    const auto both = parse_with(file, R"({"bos_token": "<s>", "eos_token": {"content": "<|x|>"},
                                           "add_bos_token": true, "add_eos_token": true})");
    ASSERT_TRUE(both) << both.error().to_string();
    EXPECT_EQ(ids_of(*both, "ab"), (Ids{260, 256, 261}));
    EXPECT_EQ(ids_of(*both, "ab", false), Ids{256});
    EXPECT_TRUE(both->warnings().empty());
    const auto none = parse_with(file, R"({"bos_token": "<s>", "add_bos_token": false})");
    EXPECT_EQ(ids_of(*none, "ab"), Ids{256});
    // No file names the token.
    EXPECT_EQ(ids_of(*parse_with(file, R"({"add_bos_token": true})"), "ab"), Ids{256});
    EXPECT_EQ(ids_of(*parse_with(file, R"({"add_bos_token": true, "bos_token": null})"), "ab"),
              Ids{256});
  }
}

TEST(TokenizerConfig, ATemplateCountsBeforeTheFlags) {
  const auto off =
      parse_with(with_template(kBos), R"({"bos_token": "<s>", "add_bos_token": false})");
  EXPECT_EQ(ids_of(*off, "ab"), (Ids{260, 256}));
  ASSERT_EQ(off->warnings().size(), 1u);
  EXPECT_NE(off->warnings()[0].find("add_bos_token\" is false"), std::string::npos);
  const auto on = parse_with(with_template(""), R"({"bos_token": "<s>", "add_bos_token": true})");
  EXPECT_EQ(ids_of(*on, "ab"), Ids{256});
  ASSERT_EQ(on->warnings().size(), 1u);
  EXPECT_NE(on->warnings()[0].find("does not add \"<s>\""), std::string::npos);
  EXPECT_TRUE(parse_with(with_template(kBos), R"({"bos_token": "<s>", "add_bos_token": true})")
                  ->warnings()
                  .empty());
}

TEST(TokenizerConfig, APromptThatBeginsWithBosHasItOnce) {
  const auto tokenizer = parse_with(with_template(kBos), "");
  bool repeated = false;
  EXPECT_EQ(tokenizer->encode_prompt("<s>ab", &repeated).value(), (Ids{260, 256}));
  EXPECT_TRUE(repeated);
  EXPECT_EQ(tokenizer->encode("<s>ab").value(), (Ids{260, 260, 256}));
  EXPECT_EQ(tokenizer->encode_prompt("ab<s>", &repeated).value(), (Ids{260, 256, 260}));
  EXPECT_FALSE(repeated);
  EXPECT_EQ(tokenizer->encode_prompt("<s><s>a").value(), (Ids{260, 260, 97}));
  EXPECT_EQ(tokenizer->encode_prompt("", &repeated).value(), Ids{260});
  EXPECT_FALSE(repeated);
  const auto plain = parse_with(sample_json(), "");
  EXPECT_EQ(plain->encode_prompt("<s><s>a", &repeated).value(), (Ids{260, 260, 97}));
  EXPECT_FALSE(repeated);
}

TEST(TokenizerConfig, FlagsThatDifferAreAWarning) {
  const auto tokenizer = parse_with(
      sample_json(), R"({"added_tokens_decoder": {"261": {"content": "<|x|>", "rstrip": true,
                         "lstrip": false, "normalized": false, "single_word": false,
                         "special": false}}})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  EXPECT_EQ(ids_of(*tokenizer, "<|x|>  a"), (Ids{261, 97}));
  ASSERT_EQ(tokenizer->warnings().size(), 1u);
  EXPECT_NE(tokenizer->warnings()[0].find("other flags for the token \"<|x|>\""),
            std::string::npos);
}

TEST(TokenizerConfig, Faults) {
  const struct {
    const char* config;
    const char* added;
    const char* message;
  } kCases[] = {
      {"{", "", "tokenizer_config.json"},
      {"[]", "", "tokenizer_config.json"},
      {R"({"added_tokens_decoder": []})", "", "is not an object"},
      {R"({"added_tokens_decoder": {"x": {"content": "<y>"}}})", "",
       "does not have an id as its key"},
      {R"({"added_tokens_decoder": {"-1": {"content": "<y>"}}})", "",
       "does not have an id as its key"},
      {R"({"added_tokens_decoder": {"9999999999999999999": {"content": "<y>"}}})", "",
       "an id as its key"},
      {R"({"added_tokens_decoder": {"262": {}}})", "", "\"added_tokens_decoder.262.content\""},
      {R"({"added_tokens_decoder": {"262": {"content": ""}}})", "", "is empty"},
      {R"({"added_tokens_decoder": {"300": {"content": "<y>"}}})", "", "has another id here"},
      {R"({"added_tokens_decoder": {"5": {"content": "<s>"}}})", "", "has another id here"},
      {R"({"added_tokens_decoder": {"5": {"content": "ab"}}})", "", "has another id here"},
      {R"({"bos_token": 3})", "", "is not a token"},
      {R"({"add_bos_token": "yes"})", "", "is not a boolean"},
      {"", R"({"<y>": "262"})", "is not an id"},
      {"", R"({"<y>": 300})", "has another id here"},
      {"", "[1]", "added_tokens.json"},
  };
  for (const auto& c : kCases) {
    const auto tokenizer = parse_with(sample_json(), c.config, c.added);
    ASSERT_FALSE(tokenizer) << c.config << c.added;
    EXPECT_EQ(tokenizer.error().kind, ErrorKind::kUser);
    EXPECT_NE(tokenizer.error().to_string().find(c.message), std::string::npos)
        << tokenizer.error().to_string();
  }
}

TEST(TokenizerConfig, TextKeepsTheCharacterZero) {
  const auto tokenizer = parse_with(sample_json(), "");
  StreamDecoder stream(*tokenizer);
  std::string text;
  for (const int32_t id : {97, 0, 98}) text += stream.push(id);
  EXPECT_EQ(text + stream.finish(), std::string("a\0b", 3));
}

}  // namespace
}  // namespace tapml::tokenizer
