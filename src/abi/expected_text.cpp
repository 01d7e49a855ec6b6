#include "abi/expected_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tapml {

namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Position of `name` in `expression` as a whole word, or npos.
size_t find_name(const std::string& expression, const std::string& name) {
  if (name.empty()) return std::string::npos;
  for (size_t at = expression.find(name); at != std::string::npos;
       at = expression.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_name_char(expression[at - 1])) &&
        (end == expression.size() || !is_name_char(expression[end]))) {
      return at;
    }
  }
  return std::string::npos;
}

}  // namespace

std::string source_text(const SymbolSource& source, std::optional<int64_t> value) {
  std::string text = source.expression.empty() ? source.name : source.expression;
  if (value) {
    const std::string known = source.name + " = " + std::to_string(*value);
    text = source.expression.empty() ? known : known + " as " + text;
  }
  return text + " is " + source.place;
}

std::string expected_text(const std::string& expression, int64_t value) {
  std::string number = std::to_string(value);
  if (expression.empty() || expression == number) return number;
  return expression.ends_with(" or " + number) ? expression : expression + " = " + number;
}

namespace {

// " (n = 3 is dimension 0 of parameter x)" for those `symbols` that the expression names.
std::string sources_text(const std::string& expression, const std::vector<SymbolValue>& symbols) {
  std::vector<std::pair<size_t, std::string>> sources;
  for (const SymbolValue& symbol : symbols) {
    const size_t at = find_name(expression, symbol.source.name);
    if (at == std::string::npos || symbol.source.place.empty()) continue;
    const bool says_value = expression == symbol.source.name;
    sources.emplace_back(
        at, source_text(symbol.source, says_value ? std::nullopt : std::optional(symbol.value)));
  }
  std::sort(sources.begin(), sources.end());
  std::string text;
  for (size_t i = 0; i < sources.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + sources[i].second;
  }
  return sources.empty() ? text : text + ")";
}

}  // namespace

std::string expected_with_sources(const std::string& expression, int64_t value,
                                  const std::vector<SymbolValue>& symbols) {
  return expected_text(expression, value) + sources_text(expression, symbols);
}

Error without_value(Error error, const std::string& place, const std::string& expression,
                    const std::vector<SymbolValue>& symbols) {
  error.where = place;
  error.found += " in " + expression + sources_text(expression, symbols);
  return error;
}

Error above_bound(const SymbolSource& source, const std::string& function, int64_t value,
                  int64_t most) {
  std::string message =
      source.name + " is " + std::to_string(value) + ", above its bound of " + std::to_string(most);
  if (!source.place.empty()) message += " (" + source_text(source, std::nullopt) + ")";
  return user_error(std::move(message), "function " + function,
                    source.name + " <= " + std::to_string(most), std::to_string(value),
                    "raise bound." + source.name + " to allow it");
}

}  // namespace tapml
