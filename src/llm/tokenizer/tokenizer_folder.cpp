#include "llm/tokenizer/tokenizer_folder.h"

#include <array>
#include <filesystem>

#include "io/host/files.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tiktoken_file.h"
#include "llm/tokenizer/unicode_utf8proc.h"

namespace tapml::tokenizer {

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

std::string tokenizer_file(const std::string& folder) {
  for (const char* name : kTokenizerFiles) {
    if (exists(folder + "/" + name)) return name;
  }
  return kTokenizerFiles[0];
}

Result<Tokenizer> read_tokenizer(const std::string& folder) {
  std::array<NamedText, std::size(kTokenizerSettings)> settings;
  for (size_t i = 0; i < settings.size(); ++i) {
    const std::string path = folder + "/" + kTokenizerSettings[i];
    if (!exists(path)) continue;
    TAPML_ASSIGN(std::string text, read_text_file(path));
    settings[i] = {std::move(text), path};
  }
  const TokenizerFiles files{settings[0], settings[1], settings[2]};
  const std::string name = tokenizer_file(folder), path = folder + "/" + name;
  TAPML_ASSIGN(const std::string text, read_text_file(path));
  const RegexEngine& engine = pcre2_regex_engine();
  const UnicodeTables* unicode = &utf8proc_tables();
  if (name == "rwkv_vocab_v20230424.txt") return Tokenizer::parse_rwkv(text, path, engine, files);
  if (name == "vocab.json") {
    const std::string merges = folder + "/" + kMergesFile;
    TAPML_ASSIGN(std::string pairs, read_text_file(merges));
    return Tokenizer::parse_merges({text, path}, {std::move(pairs), merges}, engine, unicode,
                                   files);
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
