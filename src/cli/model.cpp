#include "cli/model.h"

#include <cstdio>

#include "abi/model_interface.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/tokenizer/regex_pcre2.h"

namespace tapml::cli {

LoadedModel load_model(const std::string& folder) {
  frontend::HuggingFaceModel files = frontend::read_model(folder);
  for (const std::string& warning : files.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  std::string json = unwrap(read_text_file(files.tokenizer_path));
  Tokenizer tokenizer =
      unwrap(Tokenizer::parse(json, files.tokenizer_path, tokenizer::pcre2_regex_engine()));
  return {std::move(files), std::move(tokenizer)};
}

std::vector<int32_t> encode_prompt(const LoadedModel& model, const std::string& prompt) {
  if (prompt.empty()) {
    throw_user("the prompt is empty", "--prompt", "some text", "nothing");
  }
  std::vector<int32_t> tokens = unwrap(model.tokenizer.encode(prompt));
  if (tokens.empty()) throw_user("the prompt has no tokens", "--prompt", "some text", prompt);
  int64_t context = model_interface_of(model.files.module.attrs).context;
  if (static_cast<int64_t>(tokens.size()) >= context) {
    throw_user("the prompt is too long for the model", "--prompt",
               "fewer than " + std::to_string(context) + " tokens",
               std::to_string(tokens.size()) + " tokens", "shorten it");
  }
  return tokens;
}

}  // namespace tapml::cli
