// Tensors above a device's binding limit, held in segments, on devices with an artificially small
// limit.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/interpreter.h"
#include "pipeline/compile.h"
#include "run_module.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/within_bounds.h"
#include "text/parser.h"

namespace tapml {
namespace {

constexpr int64_t kMost = 2048, kAlignment = 64;

// Another device with a smaller binding limit, whose kernels take only aligned arguments.
// Allocations keep their limit.
class LimitedDevice final : public runtime::Device {
 public:
  explicit LimitedDevice(std::shared_ptr<runtime::Device> device)
      : device_(std::move(device)), info_(device_->info()) {
    info_.limits.max_binding_bytes = kMost;
    info_.limits.buffer_alignment = kAlignment;
  }
  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    return device_->allocate(bytes);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return device_->load(blob);
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    return device_->create_queue();
  }

 private:
  std::shared_ptr<runtime::Device> device_;
  DeviceInfo info_;
};

class Segments : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::shared_ptr<runtime::Device> device;
    if (GetParam() == std::string("cpu")) {
      device = std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader());
    } else {
      auto opened = device::create_opencl_device();
      if (!opened) GTEST_SKIP() << "OpenCL is unavailable";
      device = *opened;
    }
    session_ =
        unwrap(runtime::LocalSession::create(std::make_shared<LimitedDevice>(std::move(device))));
    target_ = target::parse_target(GetParam());
    target_.description.limits.max_binding_bytes = kMost;
    target_.description.limits.buffer_alignment = kAlignment;
  }

  Result<HostTensor> run(const Module& module, const target::Target& target,
                         const std::vector<HostTensor>& inputs) {
    executable_ = pipeline::compile(module, target);
    TAPML_ASSIGN(std::vector<HostTensor> outputs,
                 testing::run_main(*session_, executable_, inputs));
    return std::move(outputs.at(0));
  }

  size_t segments() const {
    size_t count = 0;
    for (const Implementation& one : executable_->implementations) count += one.segments.size();
    return count;
  }

  // Runs main of the text in segments and compares with the reference; without segments it is
  // refused.
  void check(const std::string& text, const std::vector<HostTensor>& inputs, size_t parts) {
    Module module = text::parse("module\n" + text, "m.txt");
    auto found = run(module, target_, inputs);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(segments(), parts);
    std::vector<interp::Value> args;
    for (const HostTensor& input : inputs) {
      args.push_back(interp::Value::tensor(op::RefTensor::from(input)));
    }
    op::RefTensor expected = interp::call(module, "main", args).as_tensor();
    const auto problem = testing::outside_bound(*found, expected);
    EXPECT_FALSE(problem) << *problem;
    auto whole = run(module, target::parse_target(GetParam()), inputs);
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().fault, PlatformFault::kLimit) << whole.error().to_string();
  }

  std::unique_ptr<runtime::LocalSession> session_;
  target::Target target_;
  std::shared_ptr<const Executable> executable_;
};

HostTensor waves(DType dtype, Shape shape) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, std::sin(0.7 * static_cast<double>(i)));
  }
  return tensor;
}

TEST_P(Segments, WeightsOfMatmul) {
  // 70 rows of 160 bytes: parts of 12 rows, with offsets at the device's alignment. Tensors of n
  // rows have four parts each, except those whose rows are too long for an aligned part.
  check(R"(
def main(x: Tensor((n, 40), f32), w: Tensor((70, 40), f32)) -> Tensor((n, 70), f32) {
  dataflow {
    y: Tensor((n, 70), f32) = matmul(x, w) {transpose_b: true}
    z: Tensor((n, 70), f32) = silu(y)
    output z
  }
  return z
})",
        {waves(DType::kF32, {3, 40}), waves(DType::kF32, {70, 40})}, 6 + 4);
  check(R"(
def main(x: Tensor((n, 40), f32), w: Tensor((40, 30), bf16)) -> Tensor((n, 30), f32) {
  y: Tensor((n, 30), f32) = matmul(x, w)
  return y
})",
        {waves(DType::kF32, {3, 40}), waves(DType::kBF16, {40, 30})}, 2 + 8);
}

TEST_P(Segments, TablesOfTake) {
  HostTensor ids = HostTensor::zeros(DType::kI32, {1, 6});
  int64_t k = 0;
  for (double id : {0, 99, 63, 64, 32, 31}) ids.set_f64(k++, id);
  check(R"(
def main(ids: Tensor((1, n), i32), table: Tensor((100, 16), f32)) -> Tensor((1, n, 16), f32) {
  y: Tensor((1, n, 16), f32) = take(table, ids) {axis: 0}
  return y
})",
        {ids, waves(DType::kF32, {100, 16})}, 4);
}

TEST_P(Segments, InputsAndOutputsOfElementwiseKernels) {
  check(R"(
def main(x: Tensor((100, 16), f32), s: Tensor((100, 1), f32)) -> Tensor((100, 16), f32) {
  dataflow {
    y: Tensor((100, 16), f32) = multiply(x, s)
    z: Tensor((100, 16), f32) = exp(y)
    output z
  }
  return z
})",
        {waves(DType::kF32, {100, 16}), waves(DType::kF32, {100, 1})}, 8);
}

// 32 rows of 64 bytes per binding, four bindings per tensor.
TEST_P(Segments, RowCountsOfTheCall) {
  Module module = text::parse(R"(module
def main(x: Tensor((n, 16), f32), w: Tensor((16, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    y: Tensor((n, 16), f32) = exp(x)
    z: Tensor((n, 8), f32) = matmul(y, w)
    output z
  }
  return z
})",
                              "m.txt");
  HostTensor w = waves(DType::kF32, {16, 8});
  for (int64_t n : {0, 1, 32, 33, 64, 100, 128}) {
    HostTensor x = waves(DType::kF32, {n, 16});
    auto found = run(module, target_, {x, w});
    ASSERT_TRUE(found) << n << ": " << found.error().to_string();
    ASSERT_EQ(found->shape(), (Shape{n, 8}));
    std::vector<interp::Value> args = {interp::Value::tensor(op::RefTensor::from(x)),
                                       interp::Value::tensor(op::RefTensor::from(w))};
    op::RefTensor expected = interp::call(module, "main", args).as_tensor();
    const auto problem = testing::outside_bound(*found, expected);
    ASSERT_FALSE(problem) << n << ": " << *problem;
  }
  EXPECT_GE(segments(), 8u);
  auto beyond = run(module, target_, {waves(DType::kF32, {129, 16}), w});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().fault, PlatformFault::kLimit);
  testing::expect_parts(beyond.error(),
                        {"number of rows of", "in segments of 32", "129", "at most 128"});
}

TEST_P(Segments, NoneWhereTheBindingsDoNotSuffice) {
  Module module = text::parse(R"(module
def main(x: Tensor((n, 16), f32), y: Tensor((n, 16), f32)) -> Tensor((n, 16), f32) {
  z: Tensor((n, 16), f32) = add(x, y)
  return z
})",
                              "m.txt");
  target::Target few = target_;
  few.description.limits.max_bindings = 5;  // less than two for each of the three
  HostTensor small = waves(DType::kF32, {32, 16}), large = waves(DType::kF32, {33, 16});
  EXPECT_TRUE(run(module, few, {small, small}));
  EXPECT_EQ(segments(), 0u);
  auto refused = run(module, few, {large, large});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, PlatformFault::kLimit);
  few.description.limits.max_bindings = 6;
  auto found = run(module, few, {large, large});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(segments(), 6u);
  EXPECT_EQ(found->at_f64(520), 2 * large.at_f64(520));
}

// A tensor that is known to fit one binding gets no segmented form.
TEST(SegmentBounds, SmallTensorsAreNotCut) {
  target::Target target = target::parse_target("opencl");
  target.description.limits.max_binding_bytes = kMost;
  // Rows of 64 bytes: 32 of them fit.
  auto launches = [&](const std::string& attrs, const passes::Bounds& bounds) {
    Module module = text::parse("module {" + attrs + R"(phase: "import"}

def main(x: Tensor((n, 16), f32)) -> Tensor((n, 16), f32) {
  dataflow {
    y: Tensor((n, 16), f32) = silu(x)
    output y
  }
  return y
}
)",
                                "test");
    pipeline::ImplementOptions options;
    options.memory.bounds = bounds;
    return pipeline::compile(module, target, options)->implementations.at(0).launches.size();
  };
  EXPECT_EQ(launches("", {}), 2u);
  EXPECT_EQ(launches("bound.n: 33, ", {}), 2u);
  EXPECT_EQ(launches("bound.n: 32, ", {}), 1u);
  EXPECT_EQ(launches("bound.n: 33, ", {{"n", 20}}), 1u);
  EXPECT_EQ(launches("bound.m: 3, ", {}), 2u);
}

INSTANTIATE_TEST_SUITE_P(Platforms, Segments, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
