#include "llm/tokenizer/word_piece.h"

#include <algorithm>

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Far above every published limit: the time of a word grows with it.
constexpr int64_t kMaxCharacters = int64_t{1} << 16;

size_t count_characters(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  return static_cast<size_t>(std::ranges::count_if(text, begins));
}

}  // namespace

Result<WordPieceModel> WordPieceModel::read(const JsonObjectReader& model) {
  WordPieceModel result;
  TAPML_ASSIGN(result.vocab_, read_vocabulary(model));
  TAPML_ASSIGN(result.prefix_, model.string_or("continuing_subword_prefix", "##"));
  TAPML_ASSIGN(const int64_t most,
               model.int_or("max_input_chars_per_word", 100, 0, kMaxCharacters));
  result.most_characters_ = static_cast<size_t>(most);
  const char* key = "unk_token";
  TAPML_ASSIGN(const std::string unknown, model.string_or(key, "[UNK]"));
  const auto found = result.vocab_.find(unknown);
  if (found == result.vocab_.end()) {
    return fail(model.field_error(key, "is not in the vocabulary", "a token of model.vocab"));
  }
  result.unknown_id_ = found->second;
  for (const auto& [token, id] : result.vocab_) {
    result.longest_ = std::max(result.longest_, token.size());
  }
  return result;
}

void WordPieceModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  const auto give_up = [&] {
    ids.resize(before);
    ids.push_back(unknown_id_);
  };
  if (word.size() > most_characters_ && count_characters(word) > most_characters_) {
    return give_up();
  }
  std::string piece;
  for (size_t begin = 0; begin < word.size();) {
    piece = begin > 0 ? prefix_ : "";
    const size_t prefix = piece.size();
    if (longest_ <= prefix) return give_up();
    piece += word.substr(begin, longest_ - prefix);
    // The cut may be inside a character, whose start no token has at its end.
    auto found = vocab_.find(std::string_view(piece));
    while (found == vocab_.end()) {
      piece.resize(previous_start(piece, piece.size()));
      if (piece.size() <= prefix) return give_up();
      found = vocab_.find(std::string_view(piece));
    }
    ids.push_back(found->second);
    begin += piece.size() - prefix;
  }
}

}  // namespace tapml::tokenizer
