// Logits of models in GGUF files, which the package gguf wrote by the rules of llama.cpp's
// converter, against PyTorch's.
#include <gtest/gtest.h>

#include "models/interpreted_text.h"
#include "support/golden_models.h"

namespace tapml {
namespace {

testing::GoldenModel gguf_model(const std::string& name) {
  const std::string folder = testing::golden_path("gguf/" + name);
  testing::GoldenModel golden;
  golden.reference = testing::read_tensors(folder + "/golden.safetensors");
  golden.model = frontend::read_model(folder + "/model.gguf");
  return golden;
}

std::vector<std::string> gguf_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden_path("gguf"))) {
    if (std::filesystem::exists(entry.path() / "golden.safetensors")) {
      names.push_back(entry.path().filename());
    }
  }
  std::ranges::sort(names);
  return names;
}

class GgufLogits : public ::testing::TestWithParam<std::string> {};

TEST_P(GgufLogits, EqualPyTorchs) {
  testing::GoldenModel golden = gguf_model(GetParam());
  EXPECT_TRUE(golden.model.warnings.empty()) << golden.model.warnings[0];
  const HostTensor& expected = golden.reference.at("logits");
  InterpretedText sequence(golden, 3);
  const HostTensor logits =
      sequence.call("logits_all", golden.reference.at("tokens").values<int32_t>());
  ASSERT_EQ(logits.shape(), (Shape{1, expected.shape()[0], expected.shape()[1]}));
  EXPECT_LE(testing::largest_difference(logits, expected), testing::logit_tolerance(expected));
}

INSTANTIATE_TEST_SUITE_P(Models, GgufLogits, ::testing::ValuesIn(gguf_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tapml
