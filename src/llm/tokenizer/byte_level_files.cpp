#include "llm/tokenizer/byte_level_files.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

namespace {

// Published with the models: tiktoken's cl100k_base, with digits by threes (Llama 3) or alone
// (Qwen), and Kimi's, in which Chinese characters are words of their own.
#define TAPML_WORDS_BEFORE_DIGITS R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)"
#define TAPML_WORDS_AFTER_DIGITS R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
constexpr const char* kWordsOfLlama3 =
    TAPML_WORDS_BEFORE_DIGITS R"(\p{N}{1,3})" TAPML_WORDS_AFTER_DIGITS;
constexpr const char* kWordsOfQwen = TAPML_WORDS_BEFORE_DIGITS R"(\p{N})" TAPML_WORDS_AFTER_DIGITS;
constexpr const char* kWordsOfKimi =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3})" TAPML_WORDS_AFTER_DIGITS;
#undef TAPML_WORDS_BEFORE_DIGITS
#undef TAPML_WORDS_AFTER_DIGITS

Json part(const char* type) { return Json::object({{"type", Json::string(type)}}); }

// Words by ByteLevel's own regular expression, or by another one.
Json words_by(const char* pattern, bool add_prefix_space) {
  Json bytes = part("ByteLevel");
  bytes.set("add_prefix_space", Json::boolean(add_prefix_space));
  bytes.set("use_regex", Json::boolean(!pattern));
  if (!pattern) return bytes;
  Json split = part("Split");
  split.set("pattern", Json::object({{"Regex", Json::string(pattern)}}));
  split.set("behavior", Json::string("Isolated"));
  split.set("invert", Json::boolean(false));
  Json sequence = part("Sequence");
  sequence.set("pretokenizers", Json::array({std::move(split), std::move(bytes)}));
  return sequence;
}

std::string class_of(const TokenizerConfig& config) {
  std::string name = config.tokenizer_class;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

Json read_merges(std::string_view text) {
  std::vector<Json> merges;
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_version = std::exchange(first, false) && line.starts_with("#version");
    if (!line.empty() && !is_version) merges.push_back(Json::string(std::string(line)));
  }
  return Json::array(std::move(merges));
}

}  // namespace

Json added_tokens_of(const TokenizerConfig& config) {
  std::vector<Json> added;
  for (const ConfiguredToken& configured : config.tokens) {
    const AddedToken& token = configured.token;
    if (token.id < 0) continue;
    added.push_back(Json::object({{"id", Json::integer(token.id)},
                                  {"content", Json::string(token.content)},
                                  {"special", Json::boolean(token.special)},
                                  {"single_word", Json::boolean(token.single_word)},
                                  {"lstrip", Json::boolean(token.lstrip)},
                                  {"rstrip", Json::boolean(token.rstrip)},
                                  {"normalized", Json::boolean(token.normalized)}}));
  }
  return Json::array(std::move(added));
}

Result<Json> document_of_merges(std::string_view vocab, std::string_view vocab_source,
                                std::string_view merges, std::string_view merges_source,
                                const TokenizerConfig& config) {
  const std::string name = class_of(config);
  const bool is_qwen = name == "Qwen2Tokenizer";
  if (!is_qwen && name != "" && name != "GPT2Tokenizer" && name != "PreTrainedTokenizer") {
    return fail(user_error("the words of " + name + " with vocab.json and merges.txt are not known",
                           std::string(vocab_source), "GPT2Tokenizer or Qwen2Tokenizer",
                           in_quotes(name),
                           "create tokenizer.json with transformers: "
                           "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"));
  }
  TAPML_ASSIGN(Json ids, parse_json(vocab, vocab_source));
  if (!ids.is_object()) {
    return fail(user_error("the vocabulary is not an object", std::string(vocab_source),
                           "an object of tokens and ids", ids.kind_name()));
  }
  if (find_invalid_utf8(merges) != std::string_view::npos) {
    return fail(
        user_error("the merges are not UTF-8", std::string(merges_source), "UTF-8", "other bytes"));
  }
  Json model = part("BPE");
  model.set("vocab", std::move(ids));
  model.set("merges", read_merges(merges));
  Json document = Json::object();
  document.set("added_tokens", added_tokens_of(config));
  if (is_qwen) document.set("normalizer", part("NFC"));
  document.set("pre_tokenizer",
               words_by(is_qwen ? kWordsOfQwen : nullptr, config.add_prefix_space.value_or(false)));
  document.set("decoder", part("ByteLevel"));
  document.set("model", std::move(model));
  return document;
}

Json document_of_tiktoken(const TokenizerConfig& config) {
  const std::string name = class_of(config);
  const char* pattern = name == "QWenTokenizer"       ? kWordsOfQwen
                        : name == "TikTokenTokenizer" ? kWordsOfKimi
                                                      : kWordsOfLlama3;
  Json document = Json::object();
  document.set("added_tokens", added_tokens_of(config));
  if (name == "QWenTokenizer") document.set("normalizer", part("NFC"));
  document.set("pre_tokenizer", words_by(pattern, false));
  document.set("decoder", part("ByteLevel"));
  return document;
}

}  // namespace tapml::tokenizer
