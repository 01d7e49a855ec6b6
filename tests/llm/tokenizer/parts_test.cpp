// Equality with the reference packages, part by part, on tests/golden/tokenizer/parts.jsonl.
#include <gtest/gtest.h>

#include <fstream>

#include "base/hash.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/pre_tokenizer.h"
#include "sample_tokenizer.h"
#include "support/golden_path.h"

namespace tapml::tokenizer {
namespace {

std::vector<Json> cases_of(std::string_view kind) {
  std::ifstream file(testing::golden_path("tokenizer/parts.jsonl"), std::ios::binary);
  EXPECT_TRUE(file.good());
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);) {
    auto json = parse_json(line, "parts.jsonl");
    EXPECT_TRUE(json.has_value());
    if (json && json->find("kind")->as_string() == kind) cases.push_back(std::move(*json));
  }
  EXPECT_GE(cases.size(), 8u) << kind;
  return cases;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += "[" + part + "]";
  return out;
}

std::vector<std::string> strings_of(const Json& array) {
  std::vector<std::string> out;
  for (const Json& item : array.items()) out.push_back(item.as_string());
  return out;
}

Json file_with(const char* key, const Json& part) {
  Json file = Json::object();
  file.set(key, part);
  return file;
}

TEST(TokenizerPartsGolden, PreTokenizers) {
  for (const Json& one : cases_of("pre_tokenizer")) {
    SCOPED_TRACE(one.find("part")->dump());
    const Json file = file_with("pre_tokenizer", *one.find("part"));
    const auto read = PreTokenizer::read(JsonObjectReader(file, "t"), pcre2_regex_engine());
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    for (size_t i = 0; i < one.find("texts")->items().size(); ++i) {
      const std::string& text = one.find("texts")->items()[i].as_string();
      const auto words = read->split(text);
      ASSERT_TRUE(words.has_value());
      EXPECT_EQ(joined({words->views().begin(), words->views().end()}),
                joined(strings_of(one.find("words")->items()[i])))
          << text;
    }
  }
}

TEST(TokenizerPartsGolden, Normalizers) {
  for (const Json& one : cases_of("normalizer")) {
    SCOPED_TRACE(one.find("part")->dump());
    const Json file = file_with("normalizer", *one.find("part"));
    const auto read =
        Normalizer::read(JsonObjectReader(file, "t"), pcre2_regex_engine(), &utf8proc_tables());
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    for (size_t i = 0; i < one.find("texts")->items().size(); ++i) {
      const std::string& text = one.find("texts")->items()[i].as_string();
      EXPECT_EQ(read->normalize(text).value(), one.find("normalized")->items()[i].as_string())
          << text;
    }
  }
}

TEST(TokenizerPartsGolden, RegularExpressions) {
  for (const Json& one : cases_of("regex")) {
    SCOPED_TRACE(one.find("pattern")->as_string());
    const std::string& text = one.find("text")->as_string();
    const auto regex = pcre2_regex_engine().compile(one.find("pattern")->as_string());
    ASSERT_TRUE(regex.has_value()) << regex.error().to_string();
    std::vector<Span> spans;
    ASSERT_TRUE((*regex)->find_all(text, spans));
    std::vector<std::string> found;
    for (const Span& span : spans) found.push_back(text.substr(span.begin, span.end - span.begin));
    EXPECT_EQ(joined(found), joined(strings_of(*one.find("matches"))));
  }
}

// Published patterns on every character.
TEST(TokenizerPartsGolden, EveryCharacter) {
  std::string text;
  for (char32_t c = 1; c < 0xF1000; ++c) {
    const bool skipped = (c >= 0xD800 && c <= 0xDFFF) || (c >= 0x34000 && c < 0xE0000);
    if (!skipped) append_utf8(text, c);
  }
  for (const Json& one : cases_of("every")) {
    SCOPED_TRACE(one.find("pattern")->as_string());
    const auto regex = pcre2_regex_engine().compile(one.find("pattern")->as_string());
    ASSERT_TRUE(regex.has_value()) << regex.error().to_string();
    std::vector<Span> spans;
    ASSERT_TRUE((*regex)->find_all(text, spans));
    std::string lines;
    for (const Span& span : spans) {
      lines += std::to_string(span.begin) + " " + std::to_string(span.end) + "\n";
    }
    EXPECT_EQ(static_cast<int64_t>(spans.size()), one.find("count")->as_integer());
    Sha256 hash;
    hash.update(lines);
    EXPECT_EQ(to_hex(hash.digest()), one.find("sha256")->as_string());
  }
}

TEST(TokenizerPartsGolden, Folders) {
  for (const Json& one : cases_of("folder")) {
    const Json& files = *one.find("files");
    const auto named = [&](const char* name) {
      const Json* file = files.find(name);
      return file ? NamedText{file->dump(), name} : NamedText{};
    };
    SCOPED_TRACE(named("tokenizer_config.json").text + named("added_tokens.json").text);
    const auto tokenizer = Tokenizer::parse(named("tokenizer.json").text, "tokenizer.json",
                                            pcre2_regex_engine(), &utf8proc_tables(),
                                            {.config = named("tokenizer_config.json"),
                                             .special_tokens = named("special_tokens_map.json"),
                                             .added_tokens = named("added_tokens.json")});
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().to_string();
    Ids expected;
    for (const Json& id : one.find("ids")->items()) {
      expected.push_back(static_cast<int32_t>(id.as_integer()));
    }
    EXPECT_EQ(ids_of(*tokenizer, one.find("text")->as_string()), expected);
    EXPECT_EQ(tokenizer->decode(expected, false), one.find("decoded")->as_string());
  }
}

}  // namespace
}  // namespace tapml::tokenizer
