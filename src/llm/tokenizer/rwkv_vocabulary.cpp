#include "llm/tokenizer/rwkv_vocabulary.h"

#include <charconv>
#include <optional>
#include <unordered_set>

#include "llm/tokenizer/utf8.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {
namespace {

// All of `text` as a number of `base`.
std::optional<int64_t> to_number(std::string_view text, int base) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_scalar_value(int64_t value) {
  return value >= 0 && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF);
}

// The bytes of a literal of Python's str or bytes as its repr() writes them; the UTF-8 of a str.
std::optional<std::string> read_literal(std::string_view literal) {
  const bool is_bytes = literal.starts_with('b');
  if (is_bytes) literal.remove_prefix(1);
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  const char quote = literal.front();
  if (quote != '\'' && quote != '"') return std::nullopt;
  literal = literal.substr(1, literal.size() - 2);
  std::string out;
  for (size_t at = 0; at < literal.size();) {
    const char c = literal[at++];
    if (c == quote || (is_bytes && static_cast<uint8_t>(c) >= 0x80)) return std::nullopt;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at == literal.size()) return std::nullopt;
    const char kind = literal[at++];
    size_t digits = 0;
    switch (kind) {
      case 't':
        out += '\t';
        continue;
      case 'n':
        out += '\n';
        continue;
      case 'r':
        out += '\r';
        continue;
      case '\\':
      case '\'':
      case '"':
        out += kind;
        continue;
      case 'x':
        digits = 2;
        break;
      case 'u':
        digits = 4;
        break;
      case 'U':
        digits = 8;
        break;
      default:
        return std::nullopt;
    }
    if ((is_bytes && kind != 'x') || literal.size() - at < digits) return std::nullopt;
    const std::optional<int64_t> value = to_number(literal.substr(at, digits), 16);
    if (!value || !is_scalar_value(*value)) return std::nullopt;
    at += digits;
    if (is_bytes) {
      out += static_cast<char>(*value);
    } else {
      append_utf8(out, static_cast<char32_t>(*value));
    }
  }
  return out;
}

// The token of a line; a reason if it has another form.
std::expected<RwkvToken, std::string> read_line(std::string_view line) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) {
    return std::unexpected("is not an id, a literal and a number of bytes");
  }
  const std::optional<int64_t> id = to_number(line.substr(0, first), 10);
  if (!id || *id < 0 || *id > kMaxTokenId) {
    return std::unexpected("has no id from 0 to " + std::to_string(kMaxTokenId));
  }
  std::optional<std::string> bytes = read_literal(line.substr(first + 1, last - first - 1));
  if (!bytes || bytes->empty()) return std::unexpected("has no literal of a string or of bytes");
  if (to_number(line.substr(last + 1), 10) != static_cast<int64_t>(bytes->size())) {
    return std::unexpected("does not end with the number of bytes of its literal, " +
                           std::to_string(bytes->size()));
  }
  return RwkvToken{static_cast<int32_t>(*id), *std::move(bytes)};
}

}  // namespace

Result<std::vector<RwkvToken>> read_rwkv_vocabulary(std::string_view text,
                                                    std::string_view source) {
  std::vector<RwkvToken> tokens;
  std::unordered_set<int32_t> ids;
  std::unordered_set<std::string> texts;
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && text.empty()) break;
    const auto refuse = [&](const std::string& reason) {
      const std::string where = std::string(source) + ":" + std::to_string(number);
      return fail(user_error(where + " " + reason, where, "a line like: 261 '\\n\\n' 2",
                             std::to_string(line.size()) + " bytes", "download the file again"));
    };
    auto token = read_line(line);
    if (!token) return refuse(token.error());
    if (!ids.insert(token->id).second) return refuse("has the id of another token");
    if (!texts.insert(token->bytes).second) return refuse("has the bytes of another token");
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

}  // namespace tapml::tokenizer
