#include "llm/tokenizer/added_tokens.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Word characters as Unicode's regular expression guidelines count them.
constexpr std::string_view kWordPattern = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]";

// Unicode White_Space.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// Where the code point that ends at `end` begins.
size_t previous_start(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

// Where the white space before `end` begins, no further back than `limit`.
size_t space_before(std::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const size_t start = previous_start(text, end);
    if (!is_space(next_utf8(text, start).code_point)) break;
    end = start;
  }
  return end;
}

size_t space_after(std::string_view text, size_t start) {
  while (start < text.size()) {
    const Utf8Step step = next_utf8(text, start);
    if (!is_space(step.code_point)) break;
    start += step.length;
  }
  return start;
}

}  // namespace

int32_t AddedTokens::Trie::child(int32_t node, char byte) const {
  int32_t at = nodes_[node].first_child;
  while (at >= 0 && nodes_[at].byte != byte) at = nodes_[at].next_sibling;
  return at;
}

void AddedTokens::Trie::add(std::string_view content, int32_t token) {
  int32_t node = 0;
  for (const char byte : content) {
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({-1, nodes_[node].first_child, -1, byte});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  nodes_[node].token = token;
  starts_[static_cast<uint8_t>(content.front())] = true;
}

int32_t AddedTokens::Trie::longest_at(std::string_view text, size_t at) const {
  if (!starts_[static_cast<uint8_t>(text[at])]) return -1;
  int32_t node = 0, best = -1;
  for (; at < text.size(); ++at) {
    node = child(node, text[at]);
    if (node < 0) break;
    if (nodes_[node].token >= 0) best = nodes_[node].token;
  }
  return best;
}

Result<AddedToken> AddedTokens::read_token(const JsonObjectReader& field) {
  AddedToken token;
  TAPML_ASSIGN(token.content, field.required_string("content"));
  if (token.content.empty()) return fail(field.field_error("content", "is empty", "some text"));
  TAPML_ASSIGN(const int64_t id, field.required_int("id", 0, kMaxTokenId));
  token.id = static_cast<int32_t>(id);
  const std::pair<std::string_view, bool*> flags[] = {
      {"special", &token.special}, {"single_word", &token.single_word}, {"lstrip", &token.lstrip},
      {"rstrip", &token.rstrip},   {"normalized", &token.normalized},
  };
  for (const auto& [key, flag] : flags) {
    TAPML_ASSIGN(*flag, field.required_bool(key));
  }
  return token;
}

Result<AddedTokens> AddedTokens::read(const JsonObjectReader& file, const TokenIds& vocab,
                                      const RegexEngine& engine) {
  AddedTokens added;
  if (!file.has("added_tokens")) return added;
  TAPML_ASSIGN(const auto items, object_items(file, "added_tokens"));
  std::unordered_map<int32_t, std::string_view> owners;
  for (const auto& [token, id] : vocab) owners.emplace(id, token);
  std::unordered_set<std::string_view> seen;
  added.tokens_.reserve(items.size());  // `owners` and `seen` hold views into it
  for (const JsonObjectReader& item : items) {
    TAPML_ASSIGN(AddedToken read, read_token(item));
    added.tokens_.push_back(std::move(read));
    const AddedToken& token = added.tokens_.back();
    if (!seen.insert(token.content).second) {
      return fail(item.field_error("content", "is given twice", "a content of its own"));
    }
    const auto known = vocab.find(token.content);
    if (known != vocab.end() && known->second != token.id) {
      return fail(item.field_error(
          "id", "is not the one that model.vocab gives to " + quoted(token.content),
          "the id " + std::to_string(known->second)));
    }
    const auto [owner, is_new] = owners.emplace(token.id, token.content);
    if (!is_new && owner->second != token.content) {
      return fail(item.field_error("id", "is the id of " + quoted(owner->second) + " too",
                                   "an id of its own"));
    }
    const auto index = static_cast<int32_t>(added.tokens_.size() - 1);
    (token.normalized ? added.normalized_ : added.raw_).add(token.content, index);
    if (token.single_word && added.word_ == nullptr) {
      TAPML_ASSIGN(added.word_, engine.compile(kWordPattern));
    }
  }
  return added;
}

Result<std::vector<TextPiece>> AddedTokens::split(std::string_view text) const {
  std::vector<TextPiece> raw, pieces;
  TAPML_TRY(split_part(raw_, text, {0, text.size()}, raw));
  for (const TextPiece& piece : raw) {
    if (piece.id >= 0) {
      pieces.push_back(piece);
    } else {
      TAPML_TRY(split_part(normalized_, text, piece.span, pieces));
    }
  }
  return pieces;
}

// Conditions on the neighbourhood see only the part, as if it were the whole text.
Status AddedTokens::split_part(const Trie& trie, std::string_view text, Span part,
                               std::vector<TextPiece>& out) const {
  const std::string_view whole = text.substr(0, part.end);
  const std::string_view local = whole.substr(part.begin);
  size_t done = 0;
  size_t space_end = 0;
  for (size_t at = 0; at < local.size();) {
    const int32_t index = trie.longest_at(local, at);
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[index];
    Span match{at, at + token.content.size()};
    at = match.end;
    if (token.single_word) {
      TAPML_ASSIGN(const bool alone, stands_alone(local, match));
      if (!alone) continue;
    }
    if (token.lstrip) match.begin = std::max(space_before(local, match.begin, done), done);
    if (token.rstrip) {
      // Matches inside one run of white space share its end: no second walk over it.
      if (match.end > space_end) space_end = space_after(local, match.end);
      match.end = space_end;
    }
    if (done < match.begin) out.push_back({-1, {part.begin + done, part.begin + match.begin}});
    // White space that an earlier token took along may hold all of this one.
    if (match.begin < match.end) {
      out.push_back({token.id, {part.begin + match.begin, part.begin + match.end}});
    }
    done = match.end;
  }
  if (done < local.size()) out.push_back({-1, {part.begin + done, part.end}});
  return {};
}

Result<bool> AddedTokens::stands_alone(std::string_view text, Span match) const {
  if (match.begin > 0) {
    const size_t start = previous_start(text, match.begin);
    TAPML_ASSIGN(const bool word, is_word(text.substr(start, match.begin - start)));
    if (word) return false;
  }
  if (match.end < text.size()) {
    const size_t length = next_utf8(text, match.end).length;
    TAPML_ASSIGN(const bool word, is_word(text.substr(match.end, length)));
    if (word) return false;
  }
  return true;
}

Result<bool> AddedTokens::is_word(std::string_view character) const {
  std::vector<Span> matches;
  TAPML_TRY(word_->find_all(character, matches));
  return !matches.empty();
}

}  // namespace tapml::tokenizer
