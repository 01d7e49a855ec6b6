// A small tokenizer.json that tests change field by field.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "io/json.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/unicode_utf8proc.h"

namespace tapml::tokenizer {

inline Json json_of(std::string_view text) {
  auto json = parse_json(text, "test");
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *json : Json();
}

// Ids 0 to 255 are the bytes; then 256 "ab", 257 "bc", 258 "abc", 259 " a".
inline Json sample_model() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocab.set(spell_bytes({&c, 1}), Json::integer(byte));
  }
  vocab.set("ab", Json::integer(256));
  vocab.set("bc", Json::integer(257));
  vocab.set("abc", Json::integer(258));
  vocab.set("\u0120a", Json::integer(259));
  Json model = Json::object();
  model.set("type", Json::string("BPE"));
  model.set("vocab", std::move(vocab));
  model.set("merges", json_of("[\"b c\", [\"a\", \"b\"], \"ab c\", \"\u0120 a\"]"));
  return model;
}

// Added: 260 "<s>" (special), 261 "<|x|>". No split into words, no post-processor.
inline Json sample_json() {
  Json file = Json::object();
  file.set("version", Json::string("1.0"));
  file.set("added_tokens", json_of(R"([
    {"id": 260, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 261, "content": "<|x|>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": false}])"));
  file.set("normalizer", Json::null());
  file.set("pre_tokenizer",
           json_of(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})"));
  file.set("post_processor", Json::null());
  file.set("decoder", json_of(R"({"type": "ByteLevel"})"));
  file.set("model", sample_model());
  return file;
}

inline Result<Tokenizer> parse_sample(const Json& file) {
  return Tokenizer::parse(file.dump(1), "tokenizer.json", pcre2_regex_engine(), &utf8proc_tables());
}

// The tokenizer of a file that must be valid.
inline Tokenizer make_tokenizer(const Json& file) {
  auto parsed = parse_sample(file);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().to_string());
  if (!parsed) std::abort();
  return std::move(*parsed);
}

// The ids of a text that must be encodable.
inline std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text,
                                   bool add_special_tokens = true) {
  const auto ids = tokenizer.encode(text, add_special_tokens);
  EXPECT_TRUE(ids.has_value()) << (ids ? "" : ids.error().to_string());
  return ids ? *ids : std::vector<int32_t>{};
}

using Ids = std::vector<int32_t>;

}  // namespace tapml::tokenizer
