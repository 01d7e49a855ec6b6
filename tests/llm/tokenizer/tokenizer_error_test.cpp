// Every fault of a tokenizer.json is a UserError with the position, the expected and the found
// value.
#include <gtest/gtest.h>

#include <ostream>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

struct Fault {
  const char* name;
  // The member of the file to replace ("model.x" for a member of the model), and its new value; an
  // empty value removes the member.
  const char* member;
  const char* value;
  // Parts of the message and of the expected value.
  const char* message;
  const char* expected;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

Json without(const Json& object, std::string_view key) {
  Json result = Json::object();
  for (const auto& [name, value] : object.members()) {
    if (name != key) result.set(name, value);
  }
  return result;
}

Json replaced(const Json& object, std::string_view key, std::string_view value) {
  Json result = without(object, key);
  if (!value.empty()) result.set(std::string(key), json_of(value));
  return result;
}

#define TOKEN_FLAGS                                                                       \
  "\"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, " \
  "\"special\": true"

const Fault kFaults[] = {
    {"version", "version", "\"2.0\"", "\"version\" is not a known version", "\"1.0\""},
    {"no_model", "model", "", "\"model\" is missing", "an object"},
    {"model_kind", "model", "[1]", "\"model\" is not an object", "an object"},
    {"model_type", "model.type", "\"WordLevel\"",
     "\"model.type\" is not a supported tokenizer model", "\"BPE\""},
    {"model_type_kind", "model.type", "3", "\"model.type\" is not a string", "a string"},
    {"no_vocab", "model.vocab", "", "\"model.vocab\" is missing", "an object"},
    {"empty_vocab", "model.vocab", "{}", "\"model.vocab\" is empty", "at least one token"},
    {"id_kind", "model.vocab", "{\"a\": \"0\"}", "is not an id", "an integer from 0"},
    {"id_negative", "model.vocab", "{\"a\": -1}", "is not an id", "an integer from 0"},
    {"id_fraction", "model.vocab", "{\"a\": 1.5}", "is not an id", "an integer from 0"},
    {"id_huge", "model.vocab", "{\"a\": 4194304}", "is not an id", "an integer from 0 to 4194303"},
    {"id_twice", "model.vocab", "{\"a\": 0, \"b\": 0}", "has the id of another token",
     "a unique id"},
    {"no_merges", "model.merges", "", "\"model.merges\" is missing", "an array"},
    {"merges_kind", "model.merges", "\"a b\"", "\"model.merges\" is not an array", "an array"},
    {"merge_kind", "model.merges", "[\"a b\", 7]", "\"model.merges[1]\" is not a merge", "\"a b\""},
    {"merge_three", "model.merges", "[[\"a\", \"b\", \"c\"]]", "\"model.merges[0]\" is not a merge",
     "[\"a\", \"b\"]"},
    {"merge_spaces", "model.merges", "[\"a b c\"]", "\"model.merges[0]\" is not a merge",
     "\"a b\""},
    {"merge_unknown", "model.merges", "[\"a nope\"]",
     "\"model.merges[0]\" names \"nope\", which is not in the vocabulary", "model.vocab"},
    {"merge_result", "model.merges", "[\"b a\"]",
     "\"model.merges[0]\" makes \"ba\", which is not in the vocabulary", "model.vocab"},
    {"byte_fallback", "model.byte_fallback", "1", "\"model.byte_fallback\" is not a boolean",
     "true or false"},
    {"fuse_unk", "model.fuse_unk", "\"no\"", "\"model.fuse_unk\" is not a boolean",
     "true or false"},
    {"unk_kind", "model.unk_token", "3", "\"model.unk_token\" is not a string", "a string"},
    {"ignore_merges", "model.ignore_merges", "1", "\"model.ignore_merges\" is not a boolean",
     "true or false"},
    {"prefix", "model.continuing_subword_prefix", "\"##\"", "is not supported", "empty string"},
    {"suffix", "model.end_of_word_suffix", "\"</w>\"", "is not supported", "empty string"},
    {"dropout", "model.dropout", "0.1", "\"model.dropout\" is not supported", "null or 0"},
    {"word_piece_bytes", "model.type", "\"WordPiece\"",
     "\"pre_tokenizer\" has ByteLevel, which goes with BPE alone", "BertPreTokenizer"},
    {"normalizer", "normalizer", R"({"type": "Nmt"})",
     "\"normalizer.type\" is not a supported normalizer",
     "NFC, NFD, NFKC, NFKD, Lowercase, BertNormalizer, Precompiled, StripAccents, Prepend, "
     "Replace, "
     "Strip or "
     "Sequence"},
    {"normalizer_kind", "normalizer", "[]", "\"normalizer\" is not an object", "an object"},
    {"normalizer_untyped", "normalizer", "{}", "\"normalizer.type\" is missing", "a string"},
    {"prepend", "normalizer", R"({"type": "Prepend"})", "\"normalizer.prepend\" is missing",
     "a string"},
    {"replace_pattern", "normalizer", R"({"type": "Replace", "content": "x"})",
     "\"normalizer.pattern\" is missing", "an object"},
    {"replace_empty", "normalizer",
     R"({"type": "Replace", "pattern": {"String": ""}, "content": "x"})",
     "\"normalizer.pattern.String\" is empty", "the text to look for"},
    {"replace_content", "normalizer",
     R"({"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}}]})",
     "\"normalizer.normalizers[0].content\" is missing", "a string"},
    {"lowercase_typo", "normalizer", R"({"type": "LowerCase"})",
     "\"normalizer.type\" is not a supported normalizer", "NFC, NFD, NFKC, NFKD, Lowercase"},
    {"replace_regex", "normalizer",
     R"({"type": "Replace", "pattern": {"Regex": "a("}, "content": ""})",
     "\"normalizer.pattern\": the regular expression does not compile", ""},
    {"strip_flag", "normalizer", R"({"type": "Strip", "strip_left": true})",
     "\"normalizer.strip_right\" is missing", "true or false"},
    {"pre_tokenizer_type", "pre_tokenizer", R"({"type": "FixedLength"})",
     "\"pre_tokenizer.type\" is not a supported pre-tokenizer",
     "ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, "
     "CharDelimiterSplit, BertPreTokenizer, UnicodeScripts or Sequence"},
    {"metaspace_mark", "pre_tokenizer", R"({"type": "Metaspace"})",
     "\"pre_tokenizer.replacement\" is missing", "a string"},
    {"metaspace_mark_empty", "pre_tokenizer", R"({"type": "Metaspace", "replacement": ""})",
     "\"pre_tokenizer.replacement\" is not one character", "one character"},
    {"metaspace_mark_long", "pre_tokenizer", R"({"type": "Metaspace", "replacement": "\u2581x"})",
     "\"pre_tokenizer.replacement\" is not one character", "one character"},
    {"metaspace_scheme", "pre_tokenizer",
     R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})",
     "\"pre_tokenizer.prepend_scheme\" is not known", "always, first or never"},
    {"metaspace_forms", "pre_tokenizer",
     R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first",
         "add_prefix_space": false})",
     "\"pre_tokenizer.prepend_scheme\" does not fit \"add_prefix_space\"", "\"never\""},
    {"metaspace_bytes", "pre_tokenizer",
     R"({"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "_"},
         {"type": "ByteLevel", "add_prefix_space": false}]})",
     "\"pre_tokenizer\" has ByteLevel and Metaspace", "one of them"},
    {"pre_tokenizer_untyped", "pre_tokenizer", "{}", "\"pre_tokenizer.type\" is missing",
     "a string"},
    {"no_prefix_space", "pre_tokenizer", R"({"type": "ByteLevel"})",
     "\"pre_tokenizer.add_prefix_space\" is missing", "true or false"},
    {"behavior", "pre_tokenizer",
     R"({"type": "Split", "behavior": "Isolate", "pattern": {"String": "a"}})",
     "\"pre_tokenizer.behavior\" is not known", "MergedWithPrevious"},
    {"pattern_kind", "pre_tokenizer",
     R"({"type": "Split", "behavior": "Isolated", "pattern": {"Glob": "a"}})",
     "\"pre_tokenizer.pattern\" is of an unknown kind", "\"Regex\" or \"String\""},
    {"pattern_empty", "pre_tokenizer",
     R"({"type": "Split", "behavior": "Isolated", "pattern": {"String": ""}})",
     "\"pre_tokenizer.pattern.String\" is empty", "the text to look for"},
    {"pattern", "pre_tokenizer",
     R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "a("}})",
     "the regular expression does not compile", ""},
    {"pattern_class", "pre_tokenizer",
     R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
         "pattern": {"Regex": "[a-\\d]"}}]})",
     "\"pre_tokenizer.pretokenizers[0].pattern\": the regular expression uses a range that ends",
     ""},
    {"sequence_item", "pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [3]})",
     "\"pre_tokenizer.pretokenizers[0]\" is not an object", "an object"},
    {"added_kind", "added_tokens", "{}", "\"added_tokens\" is not an array", "an array"},
    {"added_item", "added_tokens", "[1]", "\"added_tokens[0]\" is not an object", "an object"},
    {"added_flag", "added_tokens", R"([{"id": 260, "content": "<s>", "special": true}])",
     "\"added_tokens[0].single_word\" is missing", "true or false"},
    {"added_empty", "added_tokens", R"([{"id": 260, "content": "", )" TOKEN_FLAGS "}]",
     "\"added_tokens[0].content\" is empty", "some text"},
    {"added_id", "added_tokens", R"([{"id": 4194304, "content": "<s>", )" TOKEN_FLAGS "}]",
     "\"added_tokens[0].id\" is out of range", "an integer from 0 to 4194303"},
    {"added_taken", "added_tokens", R"([{"id": 256, "content": "<s>", )" TOKEN_FLAGS "}]",
     "\"added_tokens[0].id\" is the id of \"ab\" too", "a unique id"},
    {"added_renumbered", "added_tokens", R"([{"id": 300, "content": "ab", )" TOKEN_FLAGS "}]",
     "\"added_tokens[0].id\" is not the one that model.vocab gives to \"ab\"", "the id 256"},
    {"added_twice", "added_tokens",
     R"([{"id": 300, "content": "x y", )" TOKEN_FLAGS
     R"(}, {"id": 301, "content": "x y", )" TOKEN_FLAGS "}]",
     "\"added_tokens[1].content\" is given twice", "a unique content"},
    {"added_same_id", "added_tokens",
     R"([{"id": 300, "content": "x y", )" TOKEN_FLAGS
     R"(}, {"id": 300, "content": "y z", )" TOKEN_FLAGS "}]",
     "\"added_tokens[1].id\" is the id of \"x y\" too", "a unique id"},
    {"post_type", "post_processor", R"({"type": "PairProcessing"})",
     "\"post_processor.type\" is not a supported post-processor",
     "TemplateProcessing, RobertaProcessing, BertProcessing, ByteLevel or Sequence"},
    {"template_undefined", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {},
         "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})",
     "\"post_processor.single[0].SpecialToken.id\" names a special token", "special_tokens"},
    {"template_other_text", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {}, "single": [{"Sequence": {"id": "B"}}]})",
     "\"post_processor.single[0].Sequence.id\" names a text", "\"A\""},
    {"template_no_text", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {}, "single": []})",
     "\"post_processor.single\" holds the text 0 times", "one \"Sequence\""},
    {"template_part", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {}, "single": [{"Other": {}}]})",
     "holds a part of an unknown kind", "\"SpecialToken\""},
    {"template_id", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {"<s>": {"ids": [999]}},
         "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})",
     "\"post_processor\" adds the id 999, which no token has", "model.vocab or added_tokens"},
    {"template_ids_kind", "post_processor",
     R"({"type": "TemplateProcessing", "special_tokens": {"<s>": {"ids": ["1"]}},
         "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})",
     "ids[0]\" is not an integer", "an integer"},
    {"template_twice", "post_processor",
     R"({"type": "Sequence", "processors": [
         {"type": "TemplateProcessing", "special_tokens": {}, "single": [{"Sequence": {"id": "A"}}]},
         {"type": "TemplateProcessing", "special_tokens": {}, "single": [{"Sequence": {"id": "A"}}]}]})",
     "\"post_processor.processors[1].type\" is a second template", "one template"},
    {"roberta", "post_processor", R"({"type": "RobertaProcessing", "cls": ["<s>", 260]})",
     "\"post_processor.sep\" is missing", "an array"},
    {"roberta_id", "post_processor",
     R"({"type": "RobertaProcessing", "cls": ["<s>", -1], "sep": ["<s>", 260]})",
     "\"post_processor.cls\" is not a token", "[text, id]"},
    {"char_delimiter", "pre_tokenizer", R"({"type": "CharDelimiterSplit", "delimiter": "ab"})",
     "\"pre_tokenizer.delimiter\" is not one character", "one character"},
    {"bert_flag", "normalizer", R"({"type": "BertNormalizer", "clean_text": 1})",
     "\"normalizer.clean_text\" is not a boolean", "true or false"},
    {"decoder_kind", "decoder", "[]", "\"decoder\" is not an object", "an object"},
    {"decoder_type", "decoder", R"({"type": "CTC"})", "\"decoder.type\" is not a supported decoder",
     "ByteLevel, Replace, ByteFallback, Fuse, Strip, WordPiece, Metaspace or Sequence"},
    {"decoder_item", "decoder", R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {}]})",
     "\"decoder.decoders[1].type\" is missing", "a string"},
    {"decoder_pattern", "decoder",
     R"({"type": "Replace", "pattern": {"Glob": "a"}, "content": ""})",
     "\"decoder.pattern\" is of an unknown kind", "\"Regex\" or \"String\""},
    {"decoder_regex", "decoder",
     R"({"type": "Replace", "pattern": {"Regex": "a("}, "content": ""})",
     "\"decoder.pattern\": the regular expression does not compile", ""},
    {"decoder_regex_growth", "decoder",
     R"({"type": "Sequence", "decoders": [
         {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "0123456789012345678901234567890123456789012345678901234567890123456789"},
         {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "0123456789012345678901234567890123456789012345678901234567890123456789"}]})",
     "makes texts too long", "at most 4096 times"},
    {"decoder_replace_empty", "decoder",
     R"({"type": "Replace", "pattern": {"String": ""}, "content": ""})",
     "\"decoder.pattern.String\" is empty", "the text to look for"},
    {"decoder_growth", "decoder",
     R"({"type": "Sequence", "decoders": [
         {"type": "Replace", "pattern": {"String": "a"}, "content": "12345678901234567"},
         {"type": "Replace", "pattern": {"String": "1"}, "content": "12345678901234567"},
         {"type": "Replace", "pattern": {"String": "2"}, "content": "12345678901234567"}]})",
     "\"decoder.decoders[2].content\" makes texts too long", "at most 4096 times"},
    {"decoder_strip", "decoder", R"({"type": "Strip", "content": "ab", "start": 1, "stop": 0})",
     "\"decoder.content\" is not one character", "one character"},
    {"decoder_strip_count", "decoder",
     R"({"type": "Strip", "content": " ", "start": -1, "stop": 0})",
     "\"decoder.start\" is out of range", "from 0 to 1024"},
    {"decoder_metaspace", "decoder", R"({"type": "Metaspace", "replacement": ""})",
     "\"decoder.replacement\" is not one character", "one character"},
};

// `item` repeated that many times, separated by commas.
std::string repeated(size_t count, const std::string& item) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i ? "," : "") + item;
  return text;
}

// Short files that would expand to unlimited texts, ids or call depth.
TEST(TokenizerFile, SizesAreBounded) {
  const std::pair<const char*, std::string> kFiles[] = {
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [)" +
           repeated(1000, R"({"SpecialToken": {"id": "<s>"}})") +
           R"(, {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [)" +
           repeated(1000, "0") + "]}}}"},
      {"post_processor", R"({"type": "TemplateProcessing", "special_tokens": {}, "single": [)" +
                             repeated(1025, R"({"Sequence": {"id": "A"}})") + "]}"},
      {"pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [)" +
           repeated(5, R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})") +
           "]}"},
      {"decoder",
       R"({"type": "Sequence", "decoders": [)" + repeated(65, R"({"type": "Fuse"})") + "]}"},
  };
  for (const auto& [member, value] : kFiles) {
    const auto parsed = parse_sample(replaced(sample_json(), member, value));
    ASSERT_FALSE(parsed.has_value()) << member;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUser);
    EXPECT_NE(parsed.error().expected.find("at most"), std::string::npos)
        << parsed.error().to_string();
  }
}

class TokenizerFault : public ::testing::TestWithParam<Fault> {};

TEST_P(TokenizerFault, IsReported) {
  const Fault& fault = GetParam();
  Json file = sample_json();
  const std::string_view member = fault.member;
  if (member.starts_with("model.")) {
    file.set("model", replaced(*file.find("model"), member.substr(6), fault.value));
  } else {
    file = replaced(file, member, fault.value);
  }
  const auto parsed = parse_sample(file);
  ASSERT_FALSE(parsed.has_value());
  const Error& error = parsed.error();
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_NE(error.message.find(fault.message), std::string::npos) << error.to_string();
  EXPECT_NE(error.expected.find(fault.expected), std::string::npos) << error.to_string();
  EXPECT_TRUE(error.where.starts_with("tokenizer.json:")) << error.to_string();
  EXPECT_FALSE(error.found.empty()) << error.to_string();
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerFault, ::testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TokenizerFile, ThatIsNotJsonIsRefused) {
  for (const char* text : {"", "{", "not json", "[]", "\"x\""}) {
    const auto parsed =
        Tokenizer::parse(text, "tokenizer.json", pcre2_regex_engine(), &utf8proc_tables());
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUser);
    EXPECT_TRUE(parsed.error().where.starts_with("tokenizer.json")) << parsed.error().to_string();
  }
}

// A file that is truncated anywhere, or has any byte replaced, is read or refused, never anything
// else.
TEST(TokenizerFile, DamageIsRefusedOrHarmless) {
  Json file = sample_json();
  file.set("normalizer", json_of(R"({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "_"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "_"}]})"));
  file.set("pre_tokenizer",
           json_of(R"({"type": "Metaspace", "replacement": "_", "split": false})"));
  file.set("decoder", json_of(R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "_"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})"));
  file.set("model", json_of(R"({"type": "BPE", "unk_token": "U", "byte_fallback": true,
    "vocab": {"U": 0, "_": 1, "a": 2, "_a": 3, "<0x0A>": 4}, "merges": ["_ a"]})"));
  file.set("added_tokens", json_of(R"([{"id": 9, "content": "<s>", )" TOKEN_FLAGS "}]"));
  const std::string text = file.dump();
  EXPECT_EQ(ids_of(make_tokenizer(file), "a<s>a\n?"), (Ids{3, 9, 3, 4, 0}));
  auto check = [](const std::string& damaged) {
    const auto parsed =
        Tokenizer::parse(damaged, "tokenizer.json", pcre2_regex_engine(), &utf8proc_tables());
    if (!parsed) {
      EXPECT_EQ(parsed.error().kind, ErrorKind::kUser) << parsed.error().to_string();
      return;
    }
    const auto ids = parsed->encode(" a<s>\u00e9");
    ASSERT_TRUE(ids) << ids.error().to_string();
    parsed->decode(*ids, false);
  };
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    EXPECT_FALSE(Tokenizer::parse(cut, "tokenizer.json", pcre2_regex_engine(), &utf8proc_tables()));
  }
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'"', '0', '-', ' ', 'x', '}', '\0', '\xFF'}) {
      std::string damaged = text;
      damaged[at] = byte;
      check(damaged);
    }
  }
}

TEST(TokenizerFile, BytesMustBeThereWhereAByteLevelModelFallsBackOnThem) {
  Json file = sample_json();
  file.set("model",
           json_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "byte_fallback": true})"));
  const auto parsed = parse_sample(file);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("\"model.byte_fallback\" is not supported"),
            std::string::npos);
}

TEST(TokenizerFile, UnknownTokenMustExistWhereItIsNeeded) {
  Json file = sample_json();
  file.set("model",
           json_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "U"})"));
  const auto parsed = parse_sample(file);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("\"model.unk_token\" is not in the vocabulary"),
            std::string::npos);
}

}  // namespace
}  // namespace tapml::tokenizer
