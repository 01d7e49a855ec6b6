#include "llm/tokenizer/tokenizer_folder.h"

#include <array>
#include <filesystem>

#include "io/host/files.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/unicode_utf8proc.h"

namespace tapml::tokenizer {

Result<Tokenizer> read_tokenizer(const std::string& folder) {
  std::array<NamedText, std::size(kTokenizerFileNames)> files;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = folder + "/" + kTokenizerFileNames[i];
    std::error_code ignored;
    if (i > 0 && !std::filesystem::exists(path, ignored)) continue;
    TAPML_ASSIGN(std::string text, read_text_file(path));
    files[i] = {std::move(text), path};
  }
  return Tokenizer::parse(files[0].text, files[0].source, pcre2_regex_engine(), &utf8proc_tables(),
                          {files[1], files[2], files[3]});
}

}  // namespace tapml::tokenizer
