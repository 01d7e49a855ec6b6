// SentencePiece models: any bytes are refused as the input's fault, or give a tokenizer, whose ids
// have tokens and whose texts are UTF-8, streamed or not.
#include "base/strings.h"
#include "finding.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/utf8.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto made =
      Tokenizer::parse_sentencepiece(as_text(data, size), "input", tokenizer::pcre2_regex_engine());
  if (!made) {
    require_user_error(made.error());
    return 0;
  }
  for (const char* text :
       {"", " ", "  a  b ", "Hello, world! \xC3\xA4 \xE2\x96\x81", "<s>x</s> <unk>"}) {
    const auto ids = made->encode(text);
    if (!ids) {
      require_user_error(ids.error());
      continue;
    }
    for (const int32_t id : *ids) {
      require(made->id_to_token(id).has_value(), "an id without a token");
    }
    const std::string decoded = made->decode(*ids);
    require(tokenizer::find_invalid_utf8(decoded) == std::string::npos, "the text is not UTF-8");
    StreamDecoder stream(*made);
    std::string streamed;
    for (const int32_t id : *ids) streamed += stream.push(id);
    require(streamed + stream.finish() == decoded, "the streamed text differs");
  }
  return 0;
}
