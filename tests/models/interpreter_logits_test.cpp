// Logits of the models at operator level, before code generation, against PyTorch's.
#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "models/interpreted_text.h"
#include "support/golden_models.h"

namespace tapml {
namespace {

using interp::Value;

class InterpreterLogits : public ::testing::TestWithParam<std::string> {};

TEST_P(InterpreterLogits, AllTokensAtOnce) {
  testing::GoldenModel golden = testing::golden_model(GetParam());
  const HostTensor& expected = golden.reference.at("logits");
  InterpretedText sequence(golden, 3);
  HostTensor logits = sequence.call("logits_all", golden.reference.at("tokens").values<int32_t>());
  ASSERT_EQ(logits.shape(), (Shape{1, expected.shape()[0], expected.shape()[1]}));
  EXPECT_LE(testing::largest_difference(logits, expected), testing::logit_tolerance(expected));
}

TEST_P(InterpreterLogits, PrefillInChunksThenDecode) {
  testing::GoldenModel golden = testing::golden_model(GetParam());
  const HostTensor& expected = golden.reference.at("logits");
  const int64_t vocabulary = golden.interface().vocabulary;
  auto tokens = golden.reference.at("tokens").values<int32_t>();
  InterpretedText sequence(golden, 3);
  const double tolerance = testing::logit_tolerance(expected);
  size_t done = 0;
  // Chunks that end inside a page, at its end and after it; the last tokens one by one.
  for (size_t chunk : {size_t{7}, size_t{9}, size_t{3}}) {
    HostTensor logits = sequence.call("prefill", tokens.subspan(done, chunk));
    done += chunk;
    ASSERT_EQ(logits.shape(), (Shape{1, vocabulary}));
    EXPECT_LE(
        testing::largest_difference(logits, expected, static_cast<int64_t>(done - 1) * vocabulary),
        tolerance);
  }
  for (size_t end = done + 3; done < end; ++done) {
    HostTensor logits = sequence.call("decode", tokens.subspan(done, 1));
    EXPECT_LE(
        testing::largest_difference(logits, expected, static_cast<int64_t>(done) * vocabulary),
        tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InterpreterLogits,
                         ::testing::Values("llama3_gqa", "mqa_tied", "biased", "wide_heads",
                                           "one_layer", "qwen2_moe", "qwen2_moe_normed",
                                           "qwen2_moe_plain", "demo"),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(OtherModels, InterpreterLogits,
                         ::testing::ValuesIn(testing::other_golden_models()),
                         [](const auto& info) { return info.param; });

TEST(InterpreterSample, TakesTheLowestLargestAndKeepsTheState) {
  testing::GoldenModel golden = testing::golden_model("mqa_tied");
  HostTensor logits = HostTensor::zeros(DType::kF32, {2, golden.interface().vocabulary});
  logits.set_f64(5, 1.5);
  logits.set_f64(9, 1.5);
  logits.set_f64(golden.interface().vocabulary + 408, 0.25);
  HostTensor parameters = HostTensor::zeros(DType::kF32, {2, 2});
  HostTensor state = HostTensor::zeros(DType::kI64, {2});
  state.set_f64(0, 11);
  state.set_f64(1, 12);
  std::vector<Value> args;
  for (const HostTensor& arg : {logits, parameters, state}) {
    args.push_back(Value::tensor(op::RefTensor::from(arg)));
  }
  Value result = interp::call(golden.model.module, "sample", args);
  EXPECT_EQ(result.as_tuple()[0].as_tensor().values, (std::vector<double>{5, 408}));
  EXPECT_EQ(result.as_tuple()[0].as_tensor().dtype, DType::kI32);
  EXPECT_EQ(result.as_tuple()[1].as_tensor().values, (std::vector<double>{11, 12}));
}

}  // namespace
}  // namespace tapml
