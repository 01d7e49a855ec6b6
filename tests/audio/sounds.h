// The sound files of tests/golden.
#pragma once

#include <string>

#include "support/golden_path.h"

namespace tapml::audio {

inline std::string sound(const std::string& name) { return testing::golden_path("sounds/" + name); }

}  // namespace tapml::audio
