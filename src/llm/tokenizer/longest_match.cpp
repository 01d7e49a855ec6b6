#include "llm/tokenizer/longest_match.h"

#include "llm/tokenizer/byte_alphabet.h"

namespace tapml::tokenizer {

Result<LongestMatchModel> LongestMatchModel::make(const std::vector<RwkvToken>& tokens,
                                                  std::string_view source) {
  LongestMatchModel model;
  model.vocab_.reserve(tokens.size());
  for (const RwkvToken& token : tokens) {
    model.trie_.add(token.bytes, token.id);
    model.vocab_.emplace(spell_bytes(token.bytes), token.id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    if (model.vocab_.contains(spell_bytes({&text, 1}))) continue;
    return fail(user_error(
        std::string(source) + " has no token for the byte " + std::to_string(byte) + " alone",
        std::string(source), "a token for each of the 256 bytes",
        std::to_string(tokens.size()) + " tokens without this one", "download the file again"));
  }
  return model;
}

void LongestMatchModel::encode(std::string_view bytes, std::vector<int32_t>& ids) const {
  for (size_t at = 0; at < bytes.size();) {
    const ByteTrie::Match match = trie_.longest_at(bytes, at);  // exists: each byte is a token
    ids.push_back(match.value);
    at = match.end;
  }
}

}  // namespace tapml::tokenizer
