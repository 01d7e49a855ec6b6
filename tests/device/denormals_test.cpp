// Numbers below the smallest normal one, which a driver may flush unless a shader forbids it.
#include <gtest/gtest.h>

#include <set>

#include "codegen/source/spirv.h"
#include "device/vulkan/vulkan_spirv.h"
#include "support/spirv_validation.h"

namespace tapml::device {
namespace {

std::vector<uint32_t> shader() {
  return codegen::compile_glsl_to_spirv(
      "#version 450\n"
      "layout(local_size_x = 32) in;\n"
      "layout(set = 0, binding = 0) buffer X { float x[]; };\n"
      "void main() { x[gl_GlobalInvocationID.x] = 0.5 * x[gl_GlobalInvocationID.x]; }\n",
      "halve");
}

TEST(Denormals, AreKeptByAModeOfTheEntryPoint) {
  const std::vector<uint32_t> words = shader();
  const auto capability = static_cast<uint32_t>(SpirvCapability::kDenormPreserve);
  ASSERT_FALSE(read_spirv(words, "halve")->capabilities.contains(capability));
  const std::vector<uint32_t> kept = with_denormals(words);
  EXPECT_EQ(testing::spirv_complaints(kept), "");
  const SpirvFacts facts = *read_spirv(kept, "halve");
  EXPECT_TRUE(facts.capabilities.contains(capability));
  EXPECT_EQ(facts.group[0], 32u);
  EXPECT_EQ(with_denormals(kept), kept) << "what says it itself stays as it is";
}

// Modes of the entry point about subnormals, by width.
std::multiset<uint32_t> modes_of(const std::vector<uint32_t>& words) {
  constexpr uint32_t kOpExecutionMode = 16, kDenormPreserve = 4459;
  std::multiset<uint32_t> widths;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == kOpExecutionMode && words[at + 2] == kDenormPreserve) {
      widths.insert(words[at + 3]);
    }
  }
  return widths;
}

TEST(Denormals, OfOtherWidthsAreKeptWhereTheyAreUsed) {
  const std::vector<uint32_t> half = codegen::compile_glsl_to_spirv(
      "#version 450\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
      "layout(local_size_x = 32) in;\n"
      "layout(set = 0, binding = 0) buffer X { float x[]; };\n"
      "void main() { x[0] = float(float16_t(x[0]) * float16_t(x[1])); }\n",
      "product");
  using Widths = std::multiset<uint32_t>;
  EXPECT_EQ(modes_of(with_denormals(half, {16, 64})), (Widths{16, 32}));
  EXPECT_EQ(testing::spirv_complaints(with_denormals(half, {16, 64})), "");
  EXPECT_EQ(modes_of(with_denormals(half)), Widths{32});
  EXPECT_EQ(modes_of(with_denormals(shader(), {16, 64})), Widths{32});
}

}  // namespace
}  // namespace tapml::device
