#include "llm/tokenizer/normalizer.h"

#include <optional>
#include <utility>

#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

Result<Normalizer> Normalizer::read(const JsonObjectReader& file, const RegexEngine& engine) {
  Normalizer result;
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
    if (!pattern.text() && content.find('$') != content.npos) {
      return fail(field.field_error("content", "refers to groups, which is not supported",
                                    "a text without $"));
    }
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
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "normalizers"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item, engine));
    return {};
  }
  return fail(field.field_error("type", "is not a supported normalizer",
                                "Prepend, Replace, Strip or Sequence"));
}

Result<std::string> Normalizer::normalize(std::string_view text) const {
  std::string out(text);
  const size_t max_size = (size_t{64} << 10) + 64 * text.size();
  for (const Step& step : steps_) {
    if (const auto* prepend = std::get_if<PrependStep>(&step)) {
      if (!out.empty()) out.insert(0, prepend->text);
    } else if (const auto* replace = std::get_if<ReplaceStep>(&step)) {
      TAPML_ASSIGN(out, replace->pattern.replace_all(out, replace->content, max_size));
    } else if (const auto* strip = std::get_if<StripStep>(&step)) {
      const size_t end = strip->right ? space_before(out, out.size(), 0) : out.size();
      const size_t begin = strip->left ? space_after(out, 0) : 0;
      out = begin < end ? out.substr(begin, end - begin) : std::string();
    }
  }
  return out;
}

}  // namespace tapml::tokenizer
