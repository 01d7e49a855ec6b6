#include "llm/tokenizer/normalizer.h"

#include <optional>
#include <utility>

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
  if (form || type == "Lowercase" || type == "BertNormalizer") {
    if (unicode_ == nullptr) {
      return fail(field.field_error("type", "needs tables of Unicode, which this platform lacks",
                                    "Prepend, Replace, Strip, StripAccents or Sequence"));
    }
    if (type == "BertNormalizer") return add_bert(field);
    steps_.push_back(form ? Step(*form) : Step(LowercaseStep{}));
    return {};
  }
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "normalizers"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
    return {};
  }
  return fail(
      field.field_error("type", "is not a supported normalizer",
                        "NFC, NFD, NFKC, NFKD, Lowercase, BertNormalizer, StripAccents, Prepend, "
                        "Replace, Strip or Sequence"));
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
