#include "llm/speculation/same_vocabulary.h"

#include <string>

namespace tapml::llm {

namespace {

std::unexpected<Error> different_vocabularies(std::string expected, std::string found) {
  return fail(user_error("the draft model has another vocabulary than the model", "draft",
                         std::move(expected), std::move(found),
                         "use a draft model of the same family, or --lookup 3"));
}

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  const auto text = tokenizer.id_to_token(id);
  std::string named = "no token " + std::to_string(id);
  if (text) named = "token " + std::to_string(id) + " \"" + std::string(*text) + "\"";
  return tokenizer.is_special(id) ? named + ", a special token" : named;
}

}  // namespace

Status check_same_vocabulary(const Tokenizer& model, const Tokenizer& draft) {
  if (model.vocab_size() != draft.vocab_size()) {
    return different_vocabularies(std::to_string(model.vocab_size()) + " tokens",
                                  std::to_string(draft.vocab_size()) + " tokens");
  }
  for (int32_t id = 0; id < model.vocab_size(); ++id) {
    if (model.id_to_token(id) == draft.id_to_token(id) &&
        model.is_special(id) == draft.is_special(id)) {
      continue;
    }
    return different_vocabularies(token_text(model, id), token_text(draft, id));
  }
  return {};
}

}  // namespace tapml::llm
