// Logits of the models at operator level, before code generation, against PyTorch's.
#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "support/golden_models.h"

namespace tapml {
namespace {

using interp::Value;

Value int_tensor(Shape shape, std::vector<int32_t> values) {
  return Value::tensor(op::RefTensor::from(
      HostTensor::from(DType::kI32, std::move(shape), std::span<const int32_t>(values))));
}

// One growing sequence: the interpreter's counterpart of an engine.
class Sequence {
 public:
  explicit Sequence(const testing::GoldenModel& golden, int64_t pages)
      : module_(golden.model.module), interface_(golden.interface()) {
    for (const StateTensor& state : interface_.state) {
      Shape shape = {pages, interface_.page_size};
      shape.insert(shape.end(), state.shape.begin(), state.shape.end());
      pools_.push_back(Value::tensor(op::RefTensor::zeros(state.dtype, shape)));
    }
    // The last page comes first, so that a wrong use of the table is detected.
    for (int64_t i = 0; i < pages; ++i) table_.push_back(static_cast<int32_t>(pages - 1 - i));
    for (const std::string& name : interface_.weights) {
      weights_.push_back(Value::tensor(op::RefTensor::from(golden.model.weights.at(name))));
    }
  }

  HostTensor call(const std::string& function, std::span<const int32_t> tokens) {
    const auto count = static_cast<int64_t>(tokens.size());
    std::vector<Value> args = {int_tensor({1, count}, {tokens.begin(), tokens.end()}),
                               int_tensor({1, static_cast<int64_t>(table_.size())}, table_),
                               int_tensor({1}, {length_})};
    args.insert(args.end(), pools_.begin(), pools_.end());
    args.insert(args.end(), weights_.begin(), weights_.end());
    Value result = interp::call(module_, function, args);
    const interp::ValueList& fields = result.as_tuple();
    pools_.assign(fields.begin() + 1, fields.end());
    length_ += static_cast<int32_t>(count);
    return fields[0].as_tensor().to_host();
  }

 private:
  const Module& module_;
  ModelInterface interface_;
  std::vector<Value> pools_, weights_;
  std::vector<int32_t> table_;
  int32_t length_ = 0;
};

class InterpreterLogits : public ::testing::TestWithParam<std::string> {};

TEST_P(InterpreterLogits, AllTokensAtOnce) {
  testing::GoldenModel golden = testing::golden_model(GetParam());
  const HostTensor& expected = golden.reference.at("logits");
  Sequence sequence(golden, 3);
  HostTensor logits = sequence.call("logits_all", golden.reference.at("tokens").values<int32_t>());
  ASSERT_EQ(logits.shape(), (Shape{1, expected.shape()[0], expected.shape()[1]}));
  EXPECT_LE(testing::largest_difference(logits, expected), testing::logit_tolerance(expected));
}

TEST_P(InterpreterLogits, PrefillInChunksThenDecode) {
  testing::GoldenModel golden = testing::golden_model(GetParam());
  const HostTensor& expected = golden.reference.at("logits");
  const int64_t vocabulary = golden.interface().vocabulary;
  auto tokens = golden.reference.at("tokens").values<int32_t>();
  Sequence sequence(golden, 3);
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
