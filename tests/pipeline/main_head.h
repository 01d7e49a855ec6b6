// The common beginning of small programs.
#pragma once

#include <string>

namespace tapml::testing {

inline const std::string kMainHead = "def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n";

}  // namespace tapml::testing
