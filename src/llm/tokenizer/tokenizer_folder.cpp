#include "llm/tokenizer/tokenizer_folder.h"

#include "io/host/folder_source.h"

namespace tapml::tokenizer {

std::string tokenizer_file(const std::string& folder) {
  return tokenizer_file(FolderSource(folder));
}

Result<Tokenizer> read_tokenizer(const std::string& folder) {
  return read_tokenizer(FolderSource(folder));
}

}  // namespace tapml::tokenizer
