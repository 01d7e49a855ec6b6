// tokenizer.json, the files beside it, and RWKV's vocabulary. An accepted tokenizer encodes the end
// of its own file and some fixed texts; decoding the ids at once and one by one gives the same
// text.
#include "llm/tokenizer/tokenizer.h"

#include "finding.h"
#include "llm/tokenizer/longest_match.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/unicode_utf8proc.h"
#include "llm/tokenizer/utf8.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

constexpr size_t kTail = 256;

void round_trip(const Tokenizer& tokenizer, std::string_view text, bool special) {
  Result<std::vector<int32_t>> ids = tokenizer.encode(text, special);
  if (!ids) {
    // A regular expression from the file may need more steps than the matcher allows.
    const bool gave_up =
        ids.error().kind == ErrorKind::kPlatform && ids.error().fault == PlatformFault::kLimit;
    if (!gave_up) require_user_error(ids.error());
    return;
  }
  for (bool skip : {false, true}) {
    const std::string whole = tokenizer.decode(*ids, skip);
    require(tokenizer::find_invalid_utf8(whole) == std::string_view::npos, "decoded to bad UTF-8");
    StreamDecoder stream(tokenizer, skip);
    std::string joined;
    for (const int32_t id : *ids) joined += stream.push(id);
    joined += stream.finish();
    require(joined == whole, "decoding one by one differs");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json = as_text(data, size);
  const tokenizer::NamedText file{std::string(json), "beside.json"};
  if (auto config = tokenizer::read_tokenizer_config(
          {.config = file, .special_tokens = {}, .added_tokens = {}});
      !config) {
    require_user_error(config.error());
  }
  if (auto config = tokenizer::read_tokenizer_config(
          {.config = {}, .special_tokens = file, .added_tokens = file});
      !config) {
    require_user_error(config.error());
  }
  if (auto tokens = tokenizer::read_rwkv_vocabulary(json, "vocabulary"); !tokens) {
    require_user_error(tokens.error());
  } else {
    auto model = tokenizer::LongestMatchModel::make(*tokens, "vocabulary");
    if (!model) require_user_error(model.error());
  }
  Result<Tokenizer> tokenizer = Tokenizer::parse(
      json, "tokenizer.json", tokenizer::pcre2_regex_engine(), &tokenizer::utf8proc_tables(),
      {.config = file, .special_tokens = {}, .added_tokens = {}});
  if (!tokenizer) {
    require_user_error(tokenizer.error());
    return 0;
  }
  tokenizer->vocab_size();
  for (std::string_view text :
       {"", " ", "Hello,  world's 12 345\n\t!", "\u00e9\u4e2d\U0001f600 a"}) {
    round_trip(*tokenizer, text, true);
  }
  round_trip(*tokenizer, json.substr(size - std::min(size, kTail)), false);
  return 0;
}
