#include "llm/tokenizer/tokenizer_files.h"

#include <array>

#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tiktoken_file.h"
#include "llm/tokenizer/unicode_utf8proc.h"

namespace tapml::tokenizer {

std::string tokenizer_file(const FileSource& files) {
  for (const char* name : kTokenizerFiles) {
    if (files.has(name)) return name;
  }
  return kTokenizerFiles[0];
}

Result<Tokenizer> read_tokenizer(const FileSource& source) {
  std::array<NamedText, std::size(kTokenizerSettings)> settings;
  for (size_t i = 0; i < settings.size(); ++i) {
    const char* name = kTokenizerSettings[i];
    if (!source.has(name)) continue;
    TAPML_ASSIGN(std::string text, source.read(name));
    settings[i] = {std::move(text), source.path_of(name)};
  }
  const TokenizerFiles files{settings[0], settings[1], settings[2]};
  const std::string name = tokenizer_file(source), path = source.path_of(name);
  TAPML_ASSIGN(const std::string text, source.read(name));
  const RegexEngine& engine = pcre2_regex_engine();
  const UnicodeTables* unicode = &utf8proc_tables();
  if (name == "rwkv_vocab_v20230424.txt") return Tokenizer::parse_rwkv(text, path, engine, files);
  if (name == "vocab.json") {
    TAPML_ASSIGN(std::string pairs, source.read(kMergesFile));
    return Tokenizer::parse_merges({text, path}, {std::move(pairs), source.path_of(kMergesFile)},
                                   engine, unicode, files);
  }
  if (name != kTokenizerFiles[0]) {
    // Models of both kinds are called tokenizer.model.
    if (is_tiktoken_file(text) || name != "tokenizer.model") {
      return Tokenizer::parse_tiktoken(text, path, engine, unicode, files);
    }
    return Tokenizer::parse_sentencepiece(text, path, engine, files);
  }
  return Tokenizer::parse(text, path, engine, unicode, files);
}

}  // namespace tapml::tokenizer
