#include "llm/tokenizer/metaspace.h"

#include <optional>

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

Result<std::string> required_character(const JsonObjectReader& field, std::string_view key) {
  TAPML_ASSIGN(std::string text, field.required_string(key));
  if (text.empty() || next_utf8(text, 0).length != text.size()) {
    return fail(field.field_error(key, "is not one character", "one character"));
  }
  return text;
}

Result<MetaspaceOptions> read_metaspace(const JsonObjectReader& field) {
  static constexpr std::string_view kSchemes[] = {"always", "first", "never"};
  MetaspaceOptions options;
  TAPML_ASSIGN(options.mark, required_character(field, "replacement"));
  TAPML_ASSIGN(options.split, field.bool_or("split", true));
  TAPML_ASSIGN(const std::optional<bool> prefix, field.optional_bool("add_prefix_space"));
  if (field.has("prepend_scheme")) {
    TAPML_ASSIGN(const std::string scheme, field.required_choice("prepend_scheme", kSchemes));
    options.scheme = scheme == "always"  ? PrependScheme::kAlways
                     : scheme == "first" ? PrependScheme::kFirst
                                         : PrependScheme::kNever;
    if (prefix == false && options.scheme != PrependScheme::kNever) {
      return fail(field.field_error(
          "prepend_scheme", "does not fit \"add_prefix_space\", which is false", "\"never\""));
    }
  } else if (prefix == false) {
    options.scheme = PrependScheme::kNever;
  }
  return options;
}

}  // namespace tapml::tokenizer
