// The image files of tests/golden/pictures.
#pragma once

#include <string>

#include "support/golden_path.h"

namespace tapml::image {

inline std::string picture(const std::string& name) {
  return testing::golden_path("pictures/" + name);
}

}  // namespace tapml::image
