// Khronos' validator on the shaders of a module.
#pragma once

#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

#include "exec/executable.h"

namespace tapml::testing {

// The validator's messages about the words; empty if they are valid for Vulkan 1.1.
inline std::string spirv_complaints(const std::vector<uint32_t>& words) {
  std::string said;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* message) {
        said += "word " + std::to_string(position.index) + ": " + message + "\n";
      });
  if (tools.Validate(words) && said.empty()) return "";
  return said.empty() ? "invalid" : said;
}

// The words of each entry point of a module of format "spirv" (codegen/source/spirv.h).
inline std::vector<std::vector<uint32_t>> spirv_entries(const ModuleBlob& blob) {
  std::vector<std::vector<uint32_t>> entries;
  size_t at = 0;
  auto next = [&] {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(blob.bytes.at(at++)) << (8 * i);
    return value;
  };
  while (at < blob.bytes.size()) {
    std::vector<uint32_t> words(next());
    next();  // buffers
    next();  // bytes of push constants
    for (uint32_t& word : words) word = next();
    entries.push_back(std::move(words));
  }
  return entries;
}

inline void expect_valid_spirv(const ModuleBlob& blob) {
  const auto entries = spirv_entries(blob);
  ASSERT_EQ(entries.size(), blob.entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(spirv_complaints(entries[i]), "") << blob.entries[i];
  }
}

}  // namespace tapml::testing
