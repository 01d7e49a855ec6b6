#include "llm/tokenizer/pattern.h"

#include <utility>

#include "base/strings.h"

namespace tapml::tokenizer {

Result<Pattern> Pattern::read(const JsonObjectReader& holder, const RegexEngine& engine) {
  TAPML_ASSIGN(const JsonObjectReader field, holder.required_object("pattern"));
  if (field.has("Regex")) {
    TAPML_ASSIGN(const std::string expression, field.required_string("Regex"));
    auto pattern = regex(expression, engine);
    if (pattern) return pattern;
    // The engine knows the position in the pattern; add the position in the file.
    Error error = std::move(pattern).error();
    error.message = field.source() + ": " + in_quotes(field.path()) + ": " + error.message;
    error.where = json_location(field.source(), *field.find("Regex")) + ", " + error.where;
    return fail(std::move(error));
  }
  if (!field.has("String")) {
    return fail(holder.field_error("pattern", "is of an unknown kind",
                                   "an object with \"Regex\" or \"String\""));
  }
  TAPML_ASSIGN(std::string text, field.required_string("String"));
  if (text.empty()) {
    return fail(field.field_error("String", "is empty", "the text to look for"));
  }
  return literal(std::move(text));
}

Result<Pattern> Pattern::regex(std::string_view expression, const RegexEngine& engine) {
  Pattern pattern;
  TAPML_ASSIGN(pattern.regex_, engine.compile(expression));
  return pattern;
}

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.text_ = std::move(text);
  return pattern;
}

Status Pattern::find_all(std::string_view text, std::vector<Span>& matches) const {
  if (regex_) return regex_->find_all(text, matches);
  for (size_t at = text.find(text_); at != text.npos; at = text.find(text_, at + text_.size())) {
    matches.push_back({at, at + text_.size()});
  }
  return {};
}

Result<std::string> Pattern::replace_all(std::string_view text, std::string_view content,
                                         size_t max_size) const {
  std::string out;
  if (text.empty()) return out;  // nothing is found, not even by an expression that matches nothing
  std::vector<Span> matches;
  TAPML_TRY(find_all(text, matches));
  size_t done = 0;
  for (const Span& match : matches) {
    if (out.size() + content.size() > max_size) {
      return fail(user_error("the normalizer makes the text too long", "text",
                             "at most " + std::to_string(max_size) + " bytes", "more"));
    }
    out.append(text.substr(done, match.begin - done)).append(content);
    done = match.end;
  }
  return out.append(text.substr(done));
}

}  // namespace tapml::tokenizer
