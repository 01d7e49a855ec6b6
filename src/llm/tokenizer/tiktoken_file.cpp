#include "llm/tokenizer/tiktoken_file.h"

#include <charconv>
#include <optional>
#include <string>
#include <unordered_set>

#include "llm/tokenizer/base64.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

namespace {

std::optional<RwkvToken> read_ranked_line(std::string_view line) {
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
  return read_ranked_line(bytes.substr(0, bytes.find('\n'))).has_value();
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
    auto token = read_ranked_line(line);
    if (!token) return refuse("is not a token in base64 and its rank");
    if (!ids.insert(token->id).second) return refuse("has the rank of another token");
    if (!texts.insert(token->bytes).second) return refuse("has the bytes of another token");
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

}  // namespace tapml::tokenizer
