#include "llm/tokenizer/added_tokens.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/object_items.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Word characters as defined by Unicode's regular expression guidelines.
constexpr std::string_view kWordPattern = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]";

}  // namespace

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

Result<AddedTokens> AddedTokens::read(const JsonObjectReader& file, const TokenizerConfig& config,
                                      const TokenIds& vocab, const Normalizer& normalizer,
                                      const RegexEngine& engine,
                                      std::vector<std::string>& warnings) {
  AddedTokens added;
  TAPML_TRY(added.read_file(file, vocab));
  TAPML_TRY(added.add_configured(config, vocab, warnings));
  TAPML_TRY(added.index(file, normalizer, engine));
  return added;
}

Status AddedTokens::read_file(const JsonObjectReader& file, const TokenIds& vocab) {
  if (!file.has("added_tokens")) return {};
  TAPML_ASSIGN(const auto items, object_items(file, "added_tokens"));
  std::unordered_map<int32_t, std::string_view> owners;
  for (const auto& [token, id] : vocab) owners.emplace(id, token);
  std::unordered_set<std::string_view> seen;
  tokens_.reserve(items.size());  // `owners` and `seen` hold views into it
  for (const JsonObjectReader& item : items) {
    TAPML_ASSIGN(AddedToken read, read_token(item));
    tokens_.push_back(std::move(read));
    const AddedToken& token = tokens_.back();
    if (!seen.insert(token.content).second) {
      return fail(item.field_error("content", "is given twice", "a unique content"));
    }
    const auto known = vocab.find(token.content);
    if (known != vocab.end() && known->second != token.id) {
      return fail(item.field_error(
          "id", "is not the one that model.vocab gives to " + in_quotes(token.content),
          "the id " + std::to_string(known->second)));
    }
    const auto [owner, is_new] = owners.emplace(token.id, token.content);
    if (!is_new && owner->second != token.content) {
      return fail(item.field_error("id", "is the id of " + in_quotes(owner->second) + " too",
                                   "a unique id"));
    }
  }
  return {};
}

Status AddedTokens::add_configured(const TokenizerConfig& config, const TokenIds& vocab,
                                   std::vector<std::string>& warnings) {
  std::unordered_map<std::string, size_t> index_of;
  int32_t highest = -1;
  for (const AddedToken& token : tokens_) {
    index_of.emplace(token.content, index_of.size());
    highest = std::max(highest, token.id);
  }
  for (const ConfiguredToken& configured : config.tokens) {
    AddedToken token = configured.token;
    const auto known = index_of.find(token.content);
    const auto in_vocab = vocab.find(token.content);
    // The id that the tokenizers package gives to a new token.
    const auto size = static_cast<int32_t>(vocab.size());
    const int32_t own = known != index_of.end()   ? tokens_[known->second].id
                        : in_vocab != vocab.end() ? in_vocab->second
                                                  : std::max(highest + 1, size);
    if (token.id >= 0 && token.id != own) {
      return fail(user_error(
          configured.where + ": the token " + in_quotes(token.content) + " has another id here",
          configured.where, "the id " + std::to_string(own) + ", as tokenizer.json implies",
          std::to_string(token.id), "transformers would ignore this id; make the files agree"));
    }
    token.id = own;
    if (known == index_of.end()) {
      index_of.emplace(token.content, tokens_.size());
      highest = std::max(highest, own);
      tokens_.push_back(std::move(token));
      continue;
    }
    AddedToken& present = tokens_[known->second];
    if (configured.named) {
      present.special = true;
      continue;
    }
    const auto flags = [](const AddedToken& t) {
      return std::tuple(t.special, t.single_word, t.lstrip, t.rstrip, t.normalized);
    };
    if (flags(present) == flags(token)) continue;
    warnings.push_back(configured.where + " has other flags for the token " +
                       in_quotes(token.content) +
                       " than tokenizer.json: they are used, as transformers does");
    present = std::move(token);
  }
  return {};
}

Status AddedTokens::index(const JsonObjectReader& file, const Normalizer& normalizer,
                          const RegexEngine& engine) {
  const bool any_word =
      std::ranges::any_of(tokens_, [](const AddedToken& token) { return token.single_word; });
  if (any_word) {
    TAPML_ASSIGN(word_, engine.compile(kWordPattern));
  }
  // If two become equal by normalization, special tokens take precedence.
  for (const bool special : {true, false}) {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      AddedToken& token = tokens_[i];
      if (token.special != special) continue;
      if (!token.normalized) {
        token.text = token.content;
        raw_.add(token.content, static_cast<int32_t>(i));
        continue;
      }
      auto content = normalizer.normalize(token.content);
      if (!content) {
        return fail(file.field_error("added_tokens",
                                     "has a token that cannot be normalized: " +
                                         in_quotes(token.content) + ": " + content.error().message,
                                     "texts that the normalizer can take"));
      }
      if (!content->empty()) normalized_.add(*content, static_cast<int32_t>(i));
      token.text = std::move(*content);
    }
  }
  return {};
}

Result<std::vector<TextPiece>> AddedTokens::split(std::string_view text) const {
  return split_with(raw_, text);
}

Result<std::vector<TextPiece>> AddedTokens::split_normalized(std::string_view text) const {
  return split_with(normalized_, text);
}

Result<std::vector<TextPiece>> AddedTokens::split_with(const ByteTrie& trie,
                                                       std::string_view text) const {
  std::vector<TextPiece> out;
  size_t done = 0;
  size_t space_end = 0;
  for (size_t at = 0; at < text.size();) {
    const ByteTrie::Match found = trie.longest_at(text, at);
    if (found.value < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found.value];
    Span match{at, found.end};
    at = match.end;
    if (token.single_word) {
      TAPML_ASSIGN(const bool alone, stands_alone(text, match));
      if (!alone) continue;
    }
    if (token.lstrip) match.begin = std::max(space_before(text, match.begin, done), done);
    if (token.rstrip) {
      // Matches inside one run of white space share its end, so the run is scanned once.
      if (match.end > space_end) space_end = space_after(text, match.end);
      match.end = space_end;
    }
    if (done < match.begin) out.push_back({-1, {done, match.begin}});
    // An earlier token may have taken all of this one as white space.
    if (match.begin < match.end) out.push_back({token.id, match});
    done = match.end;
  }
  if (done < text.size()) out.push_back({-1, {done, text.size()}});
  return out;
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
