#include "llm/tokenizer/tokenizer_folder.h"

#include <array>
#include <filesystem>

#include "io/host/files.h"
#include "llm/tokenizer/regex_pcre2.h"
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
  if (name != kTokenizerFiles[0]) {
    return Tokenizer::parse_rwkv(text, path, pcre2_regex_engine(), files);
  }
  return Tokenizer::parse(text, path, pcre2_regex_engine(), &utf8proc_tables(), files);
}

}  // namespace tapml::tokenizer
