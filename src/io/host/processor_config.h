// The file of a published model folder that says how images or sound are prepared.
#pragma once

#include <string>

#include "base/result.h"

namespace tapml {

struct ProcessorConfig {
  std::string text;
  std::string path;
};

// preprocessor_config.json, or processor_config.json, which has several preparations in one.
// UserError if the folder has neither; `what` is prepared: "images are", "sound is".
Result<ProcessorConfig> read_processor_config(const std::string& folder, const std::string& what);

}  // namespace tapml
