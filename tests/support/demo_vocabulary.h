// The demo model's vocabulary as a GGUF file has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/host/files.h"
#include "io/json.h"
#include "ir/exceptions.h"

namespace tapml::testing {

struct DemoVocabulary {
  std::vector<std::string> tokens = std::vector<std::string>(2048);
  std::vector<int32_t> types = std::vector<int32_t>(2048, 1);  // 1: normal, 3: control
  std::vector<std::string> merges;                             // "left right"
};

inline DemoVocabulary demo_vocabulary() {
  const std::string path = std::string(TAPML_SOURCE_DIR) + "/models/demo/tokenizer.json";
  const Json source = unwrap(parse_json(unwrap(read_text_file(path)), path));
  DemoVocabulary made;
  const Json& model = *source.find("model");
  for (const auto& [token, id] : model.find("vocab")->members()) {
    made.tokens.at(static_cast<size_t>(id.as_integer())) = token;
  }
  for (const Json& added : source.find("added_tokens")->items()) {
    const auto id = static_cast<size_t>(added.find("id")->as_integer());
    made.tokens.at(id) = added.find("content")->as_string();
    made.types.at(id) = 3;
  }
  for (const Json& merge : model.find("merges")->items()) {
    made.merges.push_back(merge.items()[0].as_string() + " " + merge.items()[1].as_string());
  }
  return made;
}

}  // namespace tapml::testing
