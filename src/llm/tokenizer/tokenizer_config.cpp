#include "llm/tokenizer/tokenizer_config.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/strings.h"
#include "io/json.h"
#include "io/json_reader.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {
namespace {

constexpr std::string_view kNamed[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
constexpr std::string_view kLists[] = {"extra_special_tokens", "additional_special_tokens"};

class ConfigReader {
 public:
  explicit ConfigReader(const TokenizerFiles& files) : files_(files) {}

  Result<TokenizerConfig> read() {
    TAPML_ASSIGN(const Json config, document(files_.config));
    const JsonObjectReader reader(config, files_.config.source);
    bool has_decoder = false;
    if (config.is_object()) {
      TAPML_TRY(read_names(reader));
      TAPML_ASSIGN(result_.add_bos, reader.optional_bool("add_bos_token"));
      TAPML_ASSIGN(result_.add_eos, reader.optional_bool("add_eos_token"));
      TAPML_ASSIGN(result_.legacy, reader.optional_bool("legacy"));
      TAPML_ASSIGN(result_.add_prefix_space, reader.optional_bool("add_prefix_space"));
      TAPML_ASSIGN(result_.tokenizer_class, reader.string_or("tokenizer_class", ""));
      TAPML_ASSIGN(const auto decoder, reader.optional_object("added_tokens_decoder"));
      has_decoder = decoder.has_value();
      if (decoder) TAPML_TRY(read_decoder(*decoder));
    }
    if (!has_decoder) {
      TAPML_ASSIGN(const Json map, document(files_.special_tokens));
      if (map.is_object()) {
        TAPML_TRY(read_names(JsonObjectReader(map, files_.special_tokens.source)));
      }
      TAPML_ASSIGN(const Json added, document(files_.added_tokens));
      if (added.is_object())
        TAPML_TRY(read_added(JsonObjectReader(added, files_.added_tokens.source)));
    }
    std::ranges::stable_sort(result_.tokens, {},
                             [](const ConfiguredToken& token) { return token.token.id; });
    for (const auto& [key, name] : names_) {
      if (key == "bos_token") result_.bos = name.token.content;
      if (key == "eos_token") result_.eos = name.token.content;
      result_.tokens.push_back(name);
    }
    for (ConfiguredToken& token : listed_) result_.tokens.push_back(std::move(token));
    return std::move(result_);
  }

 private:
  // null if there is no such file.
  static Result<Json> document(const NamedText& file) {
    if (file.text.empty()) return Json::null();
    TAPML_ASSIGN(Json json, parse_json(file.text, file.source));
    TAPML_TRY(JsonObjectReader(json, file.source).check_object());
    return json;
  }

  static std::string place(const JsonObjectReader& reader, std::string_view key) {
    return reader.source() + ": " + in_quotes(key);
  }

  // A text, or an object with the text, and flags that repeat those of the decoder's entry.
  static Result<std::optional<std::string>> content_of(const JsonObjectReader& reader,
                                                       std::string_view key, const Json& value) {
    if (value.is_string()) return value.as_string();
    const Json* content = value.is_object() ? value.find("content") : nullptr;
    if (content && content->is_string()) return content->as_string();
    return fail(
        reader.item_error(value, key, "is not a token", "a text, or an object with \"content\""));
  }

  static ConfiguredToken named_token(std::string content, std::string where) {
    ConfiguredToken token;
    token.token.content = std::move(content);
    token.token.special = true;
    token.token.normalized = false;
    token.named = true;
    token.where = std::move(where);
    return token;
  }

  // Names in a later file replace earlier ones.
  Status read_names(const JsonObjectReader& reader) {
    for (const std::string_view key : kNamed) {
      const Json* value = reader.find(key);
      if (!value) continue;
      TAPML_ASSIGN(auto content, content_of(reader, key, *value));
      if (!content->empty()) {
        names_.insert_or_assign(std::string(key), named_token(*content, place(reader, key)));
      }
    }
    for (const std::string_view key : kLists) {
      const Json* value = reader.find(key);
      if (!value || (!value->is_array() && !value->is_object())) continue;
      std::vector<const Json*> items;
      if (value->is_array()) {
        for (const Json& item : value->items()) items.push_back(&item);
      } else {
        for (const auto& member : value->members()) items.push_back(&member.second);
      }
      listed_.clear();
      for (const Json* item : items) {
        TAPML_ASSIGN(auto content, content_of(reader, key, *item));
        if (!content->empty()) listed_.push_back(named_token(*content, place(reader, key)));
      }
      if (!listed_.empty()) break;
    }
    return {};
  }

  Status read_decoder(const JsonObjectReader& decoder) {
    for (const auto& [key, value] : decoder.json().members()) {
      int64_t id = -1;
      const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
      if (parsed.ptr != key.data() + key.size() || parsed.ec != std::errc() || id < 0 ||
          id > kMaxTokenId) {
        return fail(decoder.item_error(value, in_quotes(key), "does not have an id as its key",
                                       "an integer from 0 to " + std::to_string(kMaxTokenId)));
      }
      const JsonObjectReader field(value, decoder.source(), "added_tokens_decoder." + key);
      ConfiguredToken configured;
      AddedToken& token = configured.token;
      TAPML_ASSIGN(token.content, field.required_string("content"));
      if (token.content.empty()) return fail(field.field_error("content", "is empty", "some text"));
      token.id = static_cast<int32_t>(id);
      TAPML_ASSIGN(token.special, field.bool_or("special", false));
      TAPML_ASSIGN(token.single_word, field.bool_or("single_word", false));
      TAPML_ASSIGN(token.lstrip, field.bool_or("lstrip", false));
      TAPML_ASSIGN(token.rstrip, field.bool_or("rstrip", false));
      TAPML_ASSIGN(token.normalized, field.bool_or("normalized", !token.special));
      configured.where = decoder.source() + ": " + in_quotes(field.path());
      result_.tokens.push_back(std::move(configured));
    }
    return {};
  }

  Status read_added(const JsonObjectReader& added) {
    for (const auto& [content, value] : added.json().members()) {
      if (!value.is_integer() || value.as_integer() < 0 || value.as_integer() > kMaxTokenId) {
        return fail(added.item_error(value, in_quotes(content), "is not an id",
                                     "an integer from 0 to " + std::to_string(kMaxTokenId)));
      }
      if (content.empty()) continue;
      ConfiguredToken configured;
      configured.token.content = content;
      configured.token.id = static_cast<int32_t>(value.as_integer());
      configured.token.special =
          std::ranges::any_of(
              names_, [&](const auto& name) { return name.second.token.content == content; }) ||
          std::ranges::any_of(listed_,
                              [&](const auto& token) { return token.token.content == content; });
      configured.token.normalized = !configured.token.special;
      configured.where = place(added, content);
      result_.tokens.push_back(std::move(configured));
    }
    return {};
  }

  const TokenizerFiles& files_;
  TokenizerConfig result_;
  std::map<std::string, ConfiguredToken> names_;
  std::vector<ConfiguredToken> listed_;
};

}  // namespace

Result<TokenizerConfig> read_tokenizer_config(const TokenizerFiles& files) {
  return ConfigReader(files).read();
}

}  // namespace tapml::tokenizer
