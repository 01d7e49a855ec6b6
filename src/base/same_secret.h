// Compares secrets.
#pragma once

#include <string_view>

namespace tapml {

// Takes the same time wherever the texts differ.
inline bool same_secret(std::string_view shown, std::string_view expected) {
  volatile unsigned char difference = shown.size() == expected.size() ? 0 : 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const char c = shown.empty() ? '\0' : shown[i % shown.size()];
    difference = static_cast<unsigned char>(difference | (c ^ expected[i]));
  }
  return difference == 0;
}

}  // namespace tapml
