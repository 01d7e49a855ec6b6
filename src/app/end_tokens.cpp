#include "app/end_tokens.h"

#include <filesystem>

#include "frontend/gguf/model.h"
#include "frontend/huggingface/config.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::app {

std::vector<int32_t> read_end_tokens(const std::string& folder) {
  if (frontend::is_gguf_model(folder)) return frontend::gguf_eos(folder);
  const std::string generation = folder + "/generation_config.json";
  if (std::filesystem::exists(generation)) {
    auto eos = frontend::parse_generation_eos(unwrap(read_text_file(generation)), generation);
    if (eos) return *eos;
  }
  const std::string config = folder + "/config.json";
  return frontend::parse_config(unwrap(read_text_file(config)), config).eos;
}

}  // namespace tapml::app
