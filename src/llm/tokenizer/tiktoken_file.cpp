#include "llm/tokenizer/tiktoken_file.h"

#include <charconv>
#include <optional>
#include <string>
#include <unordered_set>

#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

namespace {

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out;
  for (size_t at = 0; at < text.size(); at += 4) {
    const bool is_last = at + 4 == text.size();
    const size_t padding = !is_last ? 0 : text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int digit = i < 4 - padding ? digit_of(text[at + i]) : 0;
      if (digit < 0) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(bits >> (16 - 8 * i) & 0xFF);
  }
  return out;
}

std::optional<RwkvToken> read_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  auto bytes = decode_base64(line.substr(0, space));
  const std::string_view rank = line.substr(space + 1);
  int64_t id = -1;
  const auto [end, error] = std::from_chars(rank.data(), rank.data() + rank.size(), id);
  if (!bytes || error != std::errc() || end != rank.data() + rank.size()) return std::nullopt;
  if (id < 0 || id > kMaxTokenId) return std::nullopt;
  return RwkvToken{static_cast<int32_t>(id), *std::move(bytes)};
}

}  // namespace

bool is_tiktoken_file(std::string_view bytes) {
  return read_line(bytes.substr(0, bytes.find('\n'))).has_value();
}

Result<std::vector<RwkvToken>> read_tiktoken_file(std::string_view text, std::string_view source) {
  std::vector<RwkvToken> tokens;
  std::unordered_set<int32_t> ids;
  std::unordered_set<std::string> texts;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto refuse = [&](const std::string& reason) {
      const std::string where = std::string(source) + ":" + std::to_string(number);
      return fail(user_error(where + " " + reason, where, "a line like: IHRoZQ== 262",
                             std::to_string(line.size()) + " bytes", "download the file again"));
    };
    auto token = read_line(line);
    if (!token) return refuse("is not a token in base64 and its rank");
    if (!ids.insert(token->id).second) return refuse("has the rank of another token");
    if (!texts.insert(token->bytes).second) return refuse("has the bytes of another token");
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

}  // namespace tapml::tokenizer
