// LongRoPE in Phi 3's configuration. tests/models compares the model with transformers.
#include <gtest/gtest.h>

#include "golden_config.h"

namespace tapml::frontend {
namespace {

constexpr const char* kModel = "phi3_longrope";

HuggingFaceConfig phi3_with(const std::string& key, const std::string& value) {
  return testing::parse_golden_config(testing::golden_config_with(kModel, key, value));
}

std::string scaling(const std::string& type, const std::string& short_factor,
                    const std::string& more = "") {
  return R"({"type": ")" + type + R"(", "short_factor": )" + short_factor + more + "}";
}

constexpr const char* kOnes = "[1, 1, 1, 1, 1, 1, 1, 1]";
const std::string kLong = std::string(R"(, "long_factor": )") + kOnes;

TEST(LongRope, LongTextsHaveFactorsOfTheirOwn) {
  const HuggingFaceConfig extended = phi3_with("original_max_position_embeddings", "40");
  EXPECT_EQ(extended.model.context, 128);
  EXPECT_EQ(extended.model.short_text, 40);
  EXPECT_TRUE(extended.warnings.empty());
  // The class's default is 4096, above this context.
  const HuggingFaceConfig whole = phi3_with("original_max_position_embeddings", "null");
  EXPECT_EQ(whole.model.context, 128);
  EXPECT_EQ(whole.model.short_text, 0);
}

TEST(LongRope, HasOlderNames) {
  for (const char* type : {"longrope", "su", "yarn"}) {
    EXPECT_EQ(phi3_with("rope_scaling", scaling(type, kOnes, kLong)).model.short_text, 48) << type;
  }
}

TEST(LongRope, FieldsThatAreRefused) {
  const auto refuses = [](const std::string& value, const std::vector<std::string>& parts) {
    testing::refuses(kModel, "rope_scaling", value, parts);
  };
  refuses(scaling("longrope", "[1, 2]", R"(, "long_factor": [1, 2])"), {"short_factor", "8"});
  refuses(scaling("longrope", kOnes, R"(, "long_factor": [1, 2])"), {"long_factor", "8"});
  refuses(scaling("longrope", "[1, 1, 1, 0, 1, 1, 1, 1]", kLong), {"short_factor[3]", "0.001"});
  refuses(scaling("longrope", "[1, 1, 1, \"a\", 1, 1, 1, 1]", kLong), {"short_factor[3]"});
  refuses(scaling("longrope", kOnes), {"long_factor", "missing"});
  refuses(R"({"type": "longrope"})", {"short_factor", "missing"});
  refuses(R"({"type": "dynamic"})", {"default, linear, llama3, yarn, longrope or su"});
  testing::refuses(kModel, "original_max_position_embeddings", "1", {"2"});
}

}  // namespace
}  // namespace tapml::frontend
