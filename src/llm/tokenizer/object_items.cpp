#include "llm/tokenizer/object_items.h"

#include <string>

namespace tapml::tokenizer {

Result<std::vector<JsonObjectReader>> object_items(const JsonObjectReader& holder,
                                                   std::string_view key) {
  TAPML_ASSIGN(const std::vector<Json>* items, holder.required_array(key));
  const std::string path =
      holder.path().empty() ? std::string(key) : holder.path() + "." + std::string(key);
  std::vector<JsonObjectReader> readers;
  readers.reserve(items->size());
  for (const Json& item : *items) {
    readers.emplace_back(item, holder.source(), path + "[" + std::to_string(readers.size()) + "]");
  }
  return readers;
}

}  // namespace tapml::tokenizer
