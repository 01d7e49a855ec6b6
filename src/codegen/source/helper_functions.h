// Functions of a language that generated code may call.
#pragma once

#include <ranges>
#include <span>
#include <string>

namespace tapml::codegen {

struct HelperFunction {
  const char* name;
  const char* text;  // begins with a line break
};

inline bool calls_helper(const std::string& text, const char* name) {
  return text.find(std::string(name) + "(") != std::string::npos;
}

// Those of `helpers` that `body` or `used` calls, directly or through others, before `used`. Each
// one calls only those before it.
inline std::string used_helpers(std::span<const HelperFunction> helpers, const std::string& body,
                                std::string used = {}) {
  for (const HelperFunction& helper : helpers | std::views::reverse) {
    if (calls_helper(body, helper.name) || calls_helper(used, helper.name)) {
      used = std::string(helper.text + 1) + used;
    }
  }
  return used;
}

}  // namespace tapml::codegen
