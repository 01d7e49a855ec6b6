#include "io/host/folder_source.h"
#include "llm/chat_template.h"

namespace tapml::llm {

Result<std::optional<ChatTemplate>> read_chat_template(const std::string& folder) {
  return read_chat_template(FolderSource(folder));
}

Result<Json> read_special_tokens(const std::string& folder) {
  return read_special_tokens(FolderSource(folder));
}

}  // namespace tapml::llm
