#include "app/encoder_texts.h"

#include <sstream>

#include "base/strings.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/embedder.h"

namespace tapml::app {

NamedTexts read_texts(const EncoderTexts& options) {
  NamedTexts all;
  for (const std::string& text : options.texts) {
    all.texts.push_back(text);
    all.names.push_back("--text " + in_quotes(text));
  }
  if (!options.file.empty()) {
    std::istringstream lines(unwrap(read_text_file(options.file)));
    std::string line;
    for (int64_t number = 1; std::getline(lines, line); ++number) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      all.texts.push_back(line);
      all.names.push_back(options.file + ":" + std::to_string(number));
    }
  }
  if (all.texts.empty()) {
    throw_user("there is no text to embed", "command line", "--text TEXT or --texts FILE",
               options.file.empty() ? "neither" : "a file without texts");
  }
  return all;
}

std::vector<std::vector<int32_t>> encode_texts(const Tokenizer& tokenizer,
                                               const ModelInterface& model,
                                               const NamedTexts& texts) {
  std::vector<std::vector<int32_t>> all;
  for (size_t i = 0; i < texts.texts.size(); ++i) {
    auto tokens = tokenizer.encode(texts.texts[i]);
    if (!tokens) {
      Error error = tokens.error();
      error.where = texts.names[i] + ", " + error.where;
      throw_error(std::move(error));
    }
    all.push_back(std::move(*tokens));
  }
  unwrap(llm::check_texts(model, all, texts.names));
  return all;
}

}  // namespace tapml::app
