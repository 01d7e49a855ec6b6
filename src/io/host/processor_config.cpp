#include "io/host/processor_config.h"

#include <filesystem>

#include "io/host/files.h"

namespace tapml {

Result<ProcessorConfig> read_processor_config(const std::string& folder, const std::string& what) {
  constexpr size_t kMostBytes = size_t{16} << 20;  // older ones of sound have all mel bands
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    const std::string path = folder + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    TAPML_ASSIGN(std::string text, read_text_file(path, kMostBytes));
    return ProcessorConfig{std::move(text), path};
  }
  return fail(user_error("the model folder does not say how " + what + " prepared", folder,
                         "preprocessor_config.json or processor_config.json", "neither",
                         "download the whole model: hf download ORG/NAME --local-dir DIR"));
}

}  // namespace tapml
