#include "llm/tokenizer/post_processor.h"

#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {
namespace {

// Far above every template. Each use of a special token adds all of its ids, so a short text could
// otherwise add ids without end.
constexpr size_t kMaxParts = 1024;
constexpr size_t kMaxIds = size_t{1} << 16;

// The ids of a special token in a template; `field` is the TemplateProcessing.
Result<std::vector<int32_t>> special_ids(const JsonObjectReader& field,
                                         const JsonObjectReader& use) {
  TAPML_ASSIGN(const std::string name, use.required_string("id"));
  TAPML_ASSIGN(const auto special_tokens, field.required_object("special_tokens"));
  if (!special_tokens.has(name)) {
    return fail(use.field_error("id", "names a special token that the template does not define",
                                "a member of special_tokens"));
  }
  TAPML_ASSIGN(const auto definition, special_tokens.required_object(name));
  TAPML_ASSIGN(const auto ids, definition.required_int_array("ids", 0, kMaxTokenId));
  return std::vector<int32_t>(ids.begin(), ids.end());
}

}  // namespace

Result<PostProcessor> PostProcessor::read(const JsonObjectReader& file) {
  PostProcessor result;
  TAPML_ASSIGN(const auto field, file.optional_object("post_processor"));
  if (field) TAPML_TRY(result.add(*field));
  return result;
}

Status PostProcessor::add(const JsonObjectReader& field) {
  TAPML_ASSIGN(const std::string type, field.required_string("type"));
  if (type == "ByteLevel") return {};
  const bool pair = type == "RobertaProcessing" || type == "BertProcessing";
  if (pair || type == "TemplateProcessing") {
    if (std::exchange(has_template_, true)) {
      return fail(field.field_error("type", "is a second template", "one template"));
    }
    return pair ? add_pair(field) : add_template(field);
  }
  if (type == "Sequence") {
    TAPML_ASSIGN(const auto items, object_items(field, "processors"));
    for (const JsonObjectReader& item : items) TAPML_TRY(add(item));
    return {};
  }
  return fail(field.field_error("type", "is not a supported post-processor",
                                "TemplateProcessing, RobertaProcessing, BertProcessing, ByteLevel "
                                "or Sequence"));
}

// "cls" before a text and "sep" after it, each a text and its id.
Status PostProcessor::add_pair(const JsonObjectReader& field) {
  for (const auto& [key, side] : {std::pair{"cls", &before_}, std::pair{"sep", &after_}}) {
    TAPML_ASSIGN(const std::vector<Json>* items, field.required_array(key));
    const bool whole = items->size() == 2 && (*items)[0].is_string() && (*items)[1].is_integer() &&
                       (*items)[1].as_integer() >= 0 && (*items)[1].as_integer() <= kMaxTokenId;
    if (!whole) return fail(field.field_error(key, "is not a token", "[text, id]"));
    side->push_back(static_cast<int32_t>((*items)[1].as_integer()));
  }
  return {};
}

Status PostProcessor::add_template(const JsonObjectReader& field) {
  TAPML_ASSIGN(const auto items, object_items(field, "single"));
  if (items.size() > kMaxParts) {
    return fail(field.field_error("single", "has " + std::to_string(items.size()) + " parts",
                                  "at most " + std::to_string(kMaxParts)));
  }
  int texts = 0;
  for (const JsonObjectReader& item : items) {
    TAPML_ASSIGN(const auto text, item.optional_object("Sequence"));
    if (text) {
      TAPML_ASSIGN(const std::string which, text->required_string("id"));
      if (which != "A") {
        return fail(
            text->field_error("id", "names a text that a single one does not have", "\"A\""));
      }
      ++texts;
      continue;
    }
    if (!item.has("SpecialToken")) {
      return fail(field.item_error(item.json(), "single", "holds a part of an unknown kind",
                                   "an object with \"Sequence\" or \"SpecialToken\""));
    }
    TAPML_ASSIGN(const auto use, item.required_object("SpecialToken"));
    TAPML_ASSIGN(const std::vector<int32_t> ids, special_ids(field, use));
    auto& side = texts == 0 ? before_ : after_;
    if (side.size() + ids.size() > kMaxIds) {
      return fail(
          field.field_error("single", "adds too many ids", "at most " + std::to_string(kMaxIds)));
    }
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (texts != 1) {
    return fail(field.field_error("single", "holds the text " + std::to_string(texts) + " times",
                                  "one \"Sequence\""));
  }
  return {};
}

}  // namespace tapml::tokenizer
