#include "llm/tokenizer/vocabulary.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace tapml::tokenizer {

Result<TokenIds> read_vocabulary(const JsonObjectReader& model) {
  TAPML_ASSIGN(const JsonObjectReader vocab, model.required_object("vocab"));
  const auto& members = vocab.json().members();
  if (members.empty()) {
    return fail(model.field_error("vocab", "is empty", "at least one token"));
  }
  TokenIds ids;
  std::vector<bool> used;
  ids.reserve(members.size());
  for (const auto& [token, id] : members) {
    if (!id.is_integer() || id.as_integer() < 0 || id.as_integer() > kMaxTokenId) {
      return fail(vocab.item_error(id, in_quotes(token), "is not an id",
                                   "an integer from 0 to " + std::to_string(kMaxTokenId)));
    }
    const auto index = static_cast<size_t>(id.as_integer());
    if (index >= used.size()) used.resize(std::max(index + 1, used.size() * 2));
    if (used[index]) {
      return fail(
          vocab.item_error(id, in_quotes(token), "has the id of another token", "a unique id"));
    }
    used[index] = true;
    ids.emplace(token, static_cast<int32_t>(index));
  }
  return ids;
}

}  // namespace tapml::tokenizer
