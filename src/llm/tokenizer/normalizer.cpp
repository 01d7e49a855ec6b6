#include "llm/tokenizer/normalizer.h"

#include <optional>
#include <utility>

#include "llm/tokenizer/base64.h"
#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

namespace {

std::optional<UnicodeForm> form_called(std::string_view type) {
  if (type == "NFC") return UnicodeForm::kNfc;
  if (type == "NFD") return UnicodeForm::kNfd;
  if (type == "NFKC") return UnicodeForm::kNfkc;
  if (type == "NFKD") return UnicodeForm::kNfkd;
  return std::nullopt;
}

}  // namespace

Result<Normalizer> Normalizer::read(const JsonObjectReader& file, const RegexEngine& engine,
                                    const UnicodeTables* unicode) {
  Normalizer result;
  result.unicode_ = unicode;
  TAPML_ASSIGN(const std::optional<JsonObjectReader> field, file.optional_object("normalizer"));
  if (field) TAPML_TRY(result.add(*field, engine));
  return result;
}

Status Normalizer::add(const JsonObjectReader& field, const RegexEngine& engine) {
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "Prepend") {
    TAPML_ASSIGN(std::string text, field.required_string("prepend"));
    steps_.push_back(PrependStep{std::move(text)});
    return {};
  }
  if (type == "Replace") {
    TAPML_ASSIGN(Pattern pattern, Pattern::read(field, engine));
    TAPML_ASSIGN(std::string content, field.required_string("content"));
    steps_.push_back(ReplaceStep{std::move(pattern), std::move(content)});
    return {};
  }
  if (type == "Strip") {
    StripStep step;
    TAPML_ASSIGN(step.left, field.required_bool("strip_left"));
    TAPML_ASSIGN(step.right, field.required_bool("strip_right"));
    steps_.push_back(step);
    return {};
  }
  if (type == "StripAccents") {
    steps_.push_back(StripMarksStep{});
    return {};
  }
  const std::optional<UnicodeForm> form = form_called(type);
  if (form || type == "Lowercase" || type == "BertNormalizer" || type == "Precompiled") {
    if (unicode_ == nullptr) {
      return fail(field.field_error("type", "needs tables of Unicode, which this platform lacks",
                                    "Prepend, Replace, Strip, StripAccents or Sequence"));
    }
    if (type == "BertNormalizer") return add_bert(field);
    if (type == "Precompiled") return add_map(field);
    steps_.push_back(form ? Step(*form) : Step(LowercaseStep{}));
    return {};
  }
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "normalizers"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
    return {};
  }
  return fail(field.field_error(
      "type", "is not a supported normalizer",
      "NFC, NFD, NFKC, NFKD, Lowercase, BertNormalizer, Precompiled, StripAccents, "
      "Prepend, Replace, Strip or Sequence"));
}

// Without an option for accents, they are stripped if letters are lowercased.
Status Normalizer::add_bert(const JsonObjectReader& field) {
  BertNormalizerOptions options;
  TAPML_ASSIGN(options.clean_text, field.bool_or("clean_text", true));
  TAPML_ASSIGN(options.handle_chinese_chars, field.bool_or("handle_chinese_chars", true));
  TAPML_ASSIGN(options.lowercase, field.bool_or("lowercase", true));
  TAPML_ASSIGN(options.strip_accents, field.bool_or("strip_accents", options.lowercase));
  steps_.push_back(options);
  return {};
}

// The map of a SentencePiece model.
Status Normalizer::add_map(const JsonObjectReader& field) {
  const char* key = "precompiled_charsmap";
  TAPML_ASSIGN(const std::optional<std::string> text, field.optional_string(key));
  if (!text || text->empty()) return {};
  const std::optional<std::string> bytes = decode_base64(*text);
  if (!bytes) return fail(field.field_error(key, "is not in base64", "a map of characters"));
  TAPML_ASSIGN(CharactersMap map, CharactersMap::make(*bytes, field.source()));
  steps_.push_back(std::move(map));
  return {};
}

namespace {

// As the tokenizers package does: short grapheme clusters as a whole, by the shortest text of the
// map that they begin with, then characters.
std::string mapped(std::string_view text, const CharactersMap& map, const UnicodeTables& unicode) {
  constexpr size_t kShort = 6;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = unicode.cluster_end(text, at);
    const std::string_view cluster = text.substr(at, end - at);
    at = end;
    if (cluster.size() < kShort) {
      if (const auto match = map.shortest(cluster)) {
        out += match->by;
        continue;
      }
    }
    for (size_t i = 0; i < cluster.size();) {
      const std::string_view character = cluster.substr(i, next_utf8(cluster, i).length);
      const auto match = map.shortest(character);
      out += match ? match->by : character;
      i += character.size();
    }
  }
  return out;
}

}  // namespace

Result<std::string> Normalizer::carry_out(const Step& step, std::string text,
                                          size_t max_size) const {
  if (const auto* prepend = std::get_if<PrependStep>(&step)) {
    return text.empty() ? text : prepend->text + text;
  }
  if (const auto* replace = std::get_if<ReplaceStep>(&step)) {
    return replace->pattern.replace_all(text, replace->content, max_size);
  }
  if (const auto* strip = std::get_if<StripStep>(&step)) {
    const size_t end = strip->right ? space_before(text, text.size(), 0) : text.size();
    const size_t begin = strip->left ? space_after(text, 0) : 0;
    return begin < end ? text.substr(begin, end - begin) : std::string();
  }
  if (std::holds_alternative<StripMarksStep>(step)) return without_marks(text);
  if (const auto* bert = std::get_if<BertNormalizerOptions>(&step)) {
    return bert_normalized(text, *bert, *unicode_);
  }
  if (const auto* map = std::get_if<CharactersMap>(&step)) return mapped(text, *map, *unicode_);
  if (const auto* form = std::get_if<UnicodeForm>(&step)) return unicode_->normalized(text, *form);
  return unicode_->lower_case(text);
}

Result<std::string> Normalizer::normalize(std::string_view text) const {
  std::string out(text);
  const size_t max_size = (size_t{64} << 10) + 64 * text.size();
  for (const Step& step : steps_) {
    TAPML_ASSIGN(out, carry_out(step, std::move(out), max_size));
    if (out.size() > max_size) {
      return fail(user_error("the normalizer makes the text too long", "text",
                             "at most " + std::to_string(max_size) + " bytes", "more"));
    }
  }
  return out;
}

}  // namespace tapml::tokenizer
