// Numbers below the smallest normal one, which a driver may flush unless a shader forbids it.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tapml::device
