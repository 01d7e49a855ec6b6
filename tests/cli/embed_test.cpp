// tapml embed, with a folder of a golden encoder and a tokenizer whose words are its tokens.
#include <gtest/gtest.h>

#include "support/encoder_folder.h"
#include "support/program.h"

namespace tapml {
namespace {

using models::Pooling;
using models::PoolingConfig;
using testing::expect_failure;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

class Embed : public ::testing::Test {
 protected:
  // The vectors that the program prints for the golden texts, as f32[texts, 64].
  HostTensor embedded(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"embed", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    for (const std::string& text : texts_) args.insert(args.end(), {"--text", text});
    const ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    HostTensor found = HostTensor::zeros(DType::kF32, {std::ssize(texts_), kWidth});
    if (result.exit_code != 0) return found;
    const Json document = result.json();
    EXPECT_EQ(document.find("dimensions")->as_integer(), kWidth);
    int64_t at = 0;
    for (const Json& text : document.find("texts")->items()) {
      for (const Json& value : text.find("embedding")->items()) {
        if (at < found.size()) found.set_f64(at++, value.as_double());
      }
    }
    EXPECT_EQ(at, found.size());
    const auto& cosines = document.find("cosines")->items();
    EXPECT_EQ(cosines.size(), texts_.size());
    EXPECT_NEAR(cosines[1].items()[1].as_double(), 1, 1e-6);
    EXPECT_EQ(cosines[0].items()[2].as_double(), cosines[2].items()[0].as_double());
    return found;
  }
  void expect_golden(const std::vector<std::string>& more, const PoolingConfig& pooling) {
    const HostTensor expected = testing::expected_embeddings(golden_, pooling);
    EXPECT_LE(testing::largest_difference(embedded(more), expected),
              testing::logit_tolerance(expected));
  }
  // Vectors of length 1 whose cosines with the golden ones are at least `least`.
  void expect_close(const std::vector<std::string>& more, double least) {
    const HostTensor expected = testing::expected_embeddings(golden_, {}), found = embedded(more);
    for (int64_t text = 0; text < std::ssize(texts_); ++text) {
      double product = 0;
      for (int64_t i = text * kWidth; i < (text + 1) * kWidth; ++i) {
        product += expected.at_f64(i) * found.at_f64(i);
      }
      EXPECT_GE(product, least);
    }
  }

  static constexpr int64_t kWidth = 64;
  const testing::EncoderFolder folder_{"bert"};
  const testing::GoldenModel& golden_ = folder_.golden();
  const std::vector<std::string>& texts_ = folder_.texts();
};

TEST_F(Embed, GivesTheVectorsOfPyTorch) {
  expect_golden({folder_.path()}, {});
  expect_golden({folder_.path(), "--pooling", "cls", "--normalize", "no"},
                {Pooling::kFirstToken, false});
}

TEST_F(Embed, QuantizedVectorsAreClose) {
  expect_close({folder_.path(), "--quantize", "q4f32"}, 0.97);
  expect_close({folder_.path(), "--activations", "f16"}, 0.99999);
}

TEST_F(Embed, RunsExecutablesAndPackages) {
  const TempFolder out;
  const ProgramResult compiled = run_program({"compile", folder_.path(), "--pooling", "cls", "-o",
                                              out / "encoder.tapml", "--package", out / "package"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  expect_golden({out / "encoder.tapml"}, {Pooling::kFirstToken, true});
  expect_golden({out / "package"}, {Pooling::kFirstToken, true});
  expect_failure({"embed", out / "encoder.tapml", "--text", "t1", "--pooling", "mean"}, 2,
                 {"--pooling", "model directory"});
}

TEST_F(Embed, ReadsTextsFromAFileAndWritesVectors) {
  const TempFolder out;
  unwrap(write_text_atomic(out / "texts", texts_[0] + "\r\n\n" + texts_[1] + "\n"));
  const ProgramResult result = run_program({"embed", folder_.path(), "--text", texts_[2], "--texts",
                                            out / "texts", "-o", out / "vectors.safetensors"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("cosine similarities:\n0   1.0000"), std::string::npos) << result.out;
  EXPECT_EQ(result.last_line(), "3 vectors of 64 numbers; --json prints all of them");
  const HostTensor found = testing::read_tensors(out / "vectors.safetensors").at("embeddings");
  const HostTensor expected = testing::expected_embeddings(golden_, {});
  ASSERT_EQ(found.shape(), expected.shape());
  for (int64_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(found.at_f64(i), expected.at_f64(2 * kWidth + i), 1e-4);
    EXPECT_NEAR(found.at_f64(2 * kWidth + i), expected.at_f64(kWidth + i), 1e-4);
  }
}

TEST_F(Embed, RefusesOtherModelsAndTexts) {
  const std::string model = folder_.path();
  expect_failure({"run", model, "--prompt", "t1"}, 2, {"encoder", "tapml embed"});
  expect_failure({"profile", model, "--prompt", "t1"}, 2, {"encoder", "tapml embed"});
  expect_failure({"embed", testing::kDemoModel, "--text", "Emma"}, 2,
                 {"not an encoder", "tapml run"});
  expect_failure({"embed", model}, 2, {"--text TEXT or --texts FILE"});
  expect_failure({"embed", model, "--text", ""}, 2, {"no tokens"});
  std::string longest;
  for (int i = 0; i < 41; ++i) longest += "t1 ";
  expect_failure({"embed", model, "--text", longest}, 2, {"1 to 40 tokens", "41 tokens"});
  expect_failure({"embed", model, "--text", "t1", "--pooling", "max"}, 2, {"max"});
  expect_failure({"compile", testing::kDemoModel, "--pooling", "cls"}, 2, {"--pooling", "llama"});
}

}  // namespace
}  // namespace tapml
