// Grammars: any text is refused with its position, or its states can be walked.
#include "llm/grammar/grammar.h"

#include "finding.h"
#include "llm/grammar/token_mask.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto grammar = llm::Grammar::parse(as_text(data, size), "input");
  if (!grammar) {
    require_user_error(grammar.error());
    require(grammar.error().where.starts_with("input"), "an error without a place");
    return 0;
  }
  static const llm::TokenTexts kNoTokens;
  llm::TokenMask mask(std::make_shared<const llm::Grammar>(*std::move(grammar)), kNoTokens, {});
  for (const char* text : {"", "a", "{\"a\": [1]}", "\xC3\xA4\xE6\x97\xA5"}) mask.matches(text);
  return 0;
}
