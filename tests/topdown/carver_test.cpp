#include <gtest/gtest.h>

#include <limits>

#include "conformance/programs.h"
#include "device/null/null_device.h"
#include "pipeline/compile.h"
#include "runtime/local_session.h"
#include "text/parser.h"
#include "topdown/losing_session.h"
#include "topdown/suite/carve.h"

namespace tapml::test {
namespace {

using runtime::Tensor;
using runtime::Value;

// On a device that computes nothing, the outputs of a run are the bytes written before.
class CarverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_shared<device::NullDevice>();
    session_ = std::move(*runtime::LocalSession::create(device_));
    vm_ = std::move(
        *runtime::LocalVirtualMachine::create(*session_, share(chain_program(native_blob()))));
  }
  Tensor tensor(std::vector<float> values) {
    return *runtime::upload(*session_, f32(std::move(values)));
  }
  void run(topdown::Carver& carver, const Tensor& x, const Tensor& y) {
    vm_->call_point().set_observer(&carver);
    std::vector<Value> args = {x, y};
    auto result = vm_->call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
    vm_->call_point().set_observer(nullptr);
  }

  static const topdown::SuiteCall* call_at(const topdown::Carver& carver, int64_t sequence) {
    for (const topdown::SuiteCall& call : carver.suite().calls) {
      if (call.sequence == sequence) return &call;
    }
    return nullptr;
  }

  std::shared_ptr<device::NullDevice> device_;
  std::unique_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
};

TEST_F(CarverTest, KeepsEachContentOnceUnderItsHash) {
  topdown::Carver carver(vm_->executable());
  run(carver, tensor({1, 2}), tensor({3, 4}));
  topdown::Suite suite = carver.take();
  ASSERT_EQ(suite.kernels.size(), 2u);
  EXPECT_EQ(suite.kernels[0].name, "add_00000001");
  EXPECT_EQ(suite.kernels[1].name, "scale_00000002");
  ASSERT_EQ(suite.calls.size(), 3u);
  EXPECT_EQ(suite.calls[1].kernel, 0);
  EXPECT_EQ(suite.calls[2].sequence, 2);
  EXPECT_EQ(suite.calls[2].scalars, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(suite.calls[1].origin, Origin{"model.layers.1"});
  std::string x = content_hash(f32({1, 2})), y = content_hash(f32({3, 4}));
  EXPECT_EQ(suite.calls[0].before[0], x);
  EXPECT_EQ(suite.calls[0].before[1], y);
  EXPECT_EQ(suite.calls[0].before[2], "") << "an output has no content before";
  EXPECT_EQ(suite.calls[0].after[0], "");
  EXPECT_EQ(suite.calls[1].before[0], suite.calls[0].after[2]) << "what the first call wrote";
  EXPECT_EQ(suite.calls[1].before[1], y);
  for (const auto& [hash, held] : suite.tensors) EXPECT_EQ(content_hash(held), hash);
  EXPECT_TRUE(suite.tensors.contains(x) && suite.tensors.contains(y));
}

TEST_F(CarverTest, RereadsTensorsWrittenSince) {
  topdown::Carver carver(vm_->executable());
  Tensor x = tensor({1, 2}), y = tensor({3, 4});
  run(carver, x, y);
  HostTensor other = f32({5, 6});
  ASSERT_TRUE(session_->write(runtime::kDefaultStream, {x.storage->buffer(), 0}, other.bytes()));
  x.storage->written();
  run(carver, x, y);
  ASSERT_NE(call_at(carver, 3), nullptr);
  EXPECT_EQ(call_at(carver, 3)->before[0], content_hash(other));
  EXPECT_EQ(call_at(carver, 3)->before[1], carver.suite().calls[0].before[1]);
  // A restore replaces bytes without writing to a storage.
  auto snapshot = session_->snapshot();
  ASSERT_TRUE(snapshot);
  HostTensor last = f32({7, 8});
  for (auto& [buffer, bytes] : snapshot->buffers) {
    if (buffer == x.storage->buffer()) std::ranges::copy(last.bytes(), bytes.begin());
  }
  ASSERT_TRUE(session_->restore(*snapshot));
  run(carver, x, y);
  ASSERT_NE(call_at(carver, 6), nullptr);
  EXPECT_EQ(call_at(carver, 6)->before[0], content_hash(last));
}

TEST_F(CarverTest, TheSameCallAgainIsOneTest) {
  topdown::Carver carver(vm_->executable());
  Tensor x = tensor({1, 2}), y = tensor({3, 4});
  run(carver, x, y);
  ASSERT_EQ(carver.suite().calls.size(), 3u);
  HostTensor other = f32({5, 6});
  ASSERT_TRUE(session_->write(runtime::kDefaultStream, {x.storage->buffer(), 0}, other.bytes()));
  x.storage->written();
  run(carver, x, y);
  // The second and the third call do not read x, and this device computes nothing.
  ASSERT_EQ(carver.suite().calls.size(), 4u);
  EXPECT_EQ(carver.suite().calls[0].times, 1);
  EXPECT_EQ(carver.suite().calls[1].times, 2);
  EXPECT_EQ(carver.suite().calls[2].times, 2);
  EXPECT_EQ(carver.suite().calls[3].sequence, 3);
}

TEST_F(CarverTest, KeepsAsManyCallsAsAskedFor) {
  topdown::Carver carver(vm_->executable(), 1);
  run(carver, tensor({1, 2}), tensor({3, 4}));
  run(carver, tensor({1, 2, 3}), tensor({3, 4, 5}));
  run(carver, tensor({9, 9}), tensor({3, 4}));
  ASSERT_EQ(carver.suite().calls.size(), 4u) << "one of each kernel for each size";
  EXPECT_EQ(carver.suite().calls[2].scalars, std::vector<int64_t>{3});
}

// A large tensor is copied while it is hashed; later writes are not in the suite.
TEST_F(CarverTest, LargeTensorsKeepTheirValues) {
  topdown::Carver carver(vm_->executable());
  std::vector<float> values(size_t{1} << 19);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const HostTensor large = f32(values);
  Tensor x = tensor(values), y = tensor(std::vector<float>(values.size(), 1));
  run(carver, x, y);
  const HostTensor other = f32(std::vector<float>(values.size(), 5));
  ASSERT_TRUE(session_->write(runtime::kDefaultStream, {x.storage->buffer(), 0}, other.bytes()));
  const topdown::Suite& suite = carver.suite();
  ASSERT_FALSE(suite.calls.empty());
  EXPECT_EQ(suite.calls[0].before[0], content_hash(large));
  for (const auto& [hash, held] : suite.tensors) EXPECT_EQ(content_hash(held), hash);
}

// y = sqrt(x) and z = tanh(y) on the cpu.
std::shared_ptr<const Executable> roots() {
  pipeline::Instruments instruments;
  instruments.skip = {"fuse_ops"};
  return pipeline::compile(text::parse(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    y: Tensor((n, 8), f32) = sqrt(x)
    z: Tensor((n, 8), f32) = tanh(y)
    output z
  }
  return z
}
)",
                                       "m.txt"),
                           target::parse_target("cpu"), {.instruments = instruments});
}

bool call_roots(runtime::Session& session, runtime::LocalVirtualMachine& vm, float x) {
  const HostTensor input = HostTensor::from<float>(DType::kF32, {2, 8}, std::vector<float>(16, x));
  std::vector<Value> args = {*runtime::upload(session, input)};
  return vm.call("main", args).has_value();
}

TEST(CarverNaN, IsSeenInCallsThatAreNotKept) {
  auto session = testing::open_session("cpu");
  auto vm = std::move(*runtime::LocalVirtualMachine::create(*session, roots()));
  topdown::Carver carver(vm->executable(), 1);
  vm->call_point().set_observer(&carver);
  EXPECT_TRUE(call_roots(*session, *vm, 4));
  EXPECT_FALSE(carver.nan());
  EXPECT_TRUE(call_roots(*session, *vm, 9));
  EXPECT_FALSE(carver.nan());
  EXPECT_TRUE(call_roots(*session, *vm, -1));
  vm->call_point().set_observer(nullptr);
  EXPECT_EQ(carver.suite().calls.size(), 2u);
  ASSERT_TRUE(carver.nan());
  EXPECT_TRUE(carver.nan()->kernel.starts_with("sqrt_")) << carver.nan()->kernel;
  EXPECT_TRUE(carver.nan()->inputs.empty());
  EXPECT_EQ(carver.nan()->sequence, 4);
  EXPECT_EQ(carver.nan()->calls, 2) << "what reads it has it, too";
}

TEST(CarverNaN, NegativeSixteenBitNumbersAreNotNaN) {
  pipeline::Instruments instruments;
  instruments.skip = {"fuse_ops"};
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string tensor = std::string("Tensor((1500,), ") + dtype_name(dtype) + ")";
    const std::string program =
        "module\ndef main(x: " + tensor + ") -> " + tensor + " {\n  dataflow {\n    y: " + tensor +
        " = negative(x)\n    z: " + tensor + " = sqrt(y)\n    w: " + tensor +
        " = negative(z)\n    output w\n  }\n  return w\n}\n";
    auto session = testing::open_session("cpu");
    auto vm = std::move(*runtime::LocalVirtualMachine::create(
        *session, pipeline::compile(text::parse(program, "m.txt"), target::parse_target("cpu"),
                                    {.instruments = instruments})));
    topdown::Carver carver(vm->executable(), 0);
    vm->call_point().set_observer(&carver);
    auto call = [&](int64_t element, double value) {
      HostTensor x = HostTensor::zeros(dtype, {1500});
      for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, -4);
      x.set_f64(element, value);
      std::vector<Value> args = {*runtime::upload(*session, x)};
      EXPECT_TRUE(vm->call("main", args));
    };
    call(3, -std::numeric_limits<double>::infinity());
    EXPECT_FALSE(carver.nan()) << tensor;
    call(1400, 4);
    ASSERT_TRUE(carver.nan()) << tensor;
    EXPECT_TRUE(carver.nan()->kernel.starts_with("sqrt_")) << carver.nan()->kernel;
    EXPECT_TRUE(carver.nan()->inputs.empty()) << "-4 is none";
    vm->call_point().set_observer(nullptr);
  }
}

TEST(CarverTake, OmitsUnfinishedCalls) {
  topdown::LosingSession session(1);
  auto vm = std::move(*runtime::LocalVirtualMachine::create(session, roots()));
  topdown::Carver carver(vm->executable());
  vm->call_point().set_observer(&carver);
  EXPECT_FALSE(call_roots(session, *vm, 4)) << "the device is lost";
  vm->call_point().set_observer(nullptr);
  const topdown::Suite suite = carver.take();
  ASSERT_EQ(suite.kernels.size(), 1u);
  EXPECT_TRUE(suite.kernels[0].name.starts_with("sqrt_"));
  ASSERT_EQ(suite.calls.size(), 1u);
  EXPECT_EQ(suite.calls[0].kernel, 0);
}

}  // namespace
}  // namespace tapml::test
