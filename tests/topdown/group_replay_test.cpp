// Kernels judged together, with a trusted source that knows only what goes in and comes out.
#include "topdown/replay/group_replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/vm.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// Two kernels, because a softmax takes no matmul along.
const char* const kSoftmaxThenMatmul = R"(module
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = softmax(x)
    b: Tensor((n, 4), f32) = matmul(a, w)
    output b
  }
  return b
})";

HostTensor filled(Shape shape, double scale) {
  HostTensor x = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, scale * static_cast<double>(i % 7 - 3));
  return x;
}

class GroupReplay : public ::testing::Test {
 protected:
  GroupReplay() {
    auto session = testing::open_session("cpu");
    auto executable =
        pipeline::compile(text::parse(kSoftmaxThenMatmul, "m.txt"), target::parse_target("cpu"));
    auto vm = unwrap(runtime::VirtualMachine::create(*session, executable));
    Carver carver(*executable);
    vm->call_point().set_observer(&carver);
    std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, filled({3, 8}, 0.37))),
                                        unwrap(runtime::upload(*session, w_))};
    unwrap(vm->call("main", args));
    vm->call_point().set_observer(nullptr);
    suite_ = carver.take();
  }

  // The program in f64, `scale` times.
  HostTensor trusted(const HostTensor& x, double scale = 1) const {
    HostTensor y = HostTensor::zeros(DType::kF32, {3, 4});
    for (int64_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += std::exp(x.at_f64(row * 8 + k));
      for (int64_t j = 0; j < 4; ++j) {
        double value = 0;
        for (int64_t k = 0; k < 8; ++k) {
          value += std::exp(x.at_f64(row * 8 + k)) / sum * w_.at_f64(k * 4 + j);
        }
        y.set_f64(row * 4 + j, scale * value);
      }
    }
    return y;
  }

  JoinedCalls group(const HostTensor& x, const HostTensor& y) const {
    JoinedCalls group;
    group.calls = {0, 1};
    group.inputs = {{{0, 0}, x}};
    group.links = {{{1, 0}, {0, 1}}};
    group.outputs = {{{1, 2}, y}};
    return group;
  }

  Result<KernelVerdict> replay(const JoinedCalls& group, const char* platform = "cpu") {
    auto session = testing::open_session(platform);
    Judge judge(suite_);
    auto executable = pipeline::implement(judge.module(), target::parse_target(platform));
    Sandbox sandbox({target::parse_target(platform), session.get()});
    sandbox.load(executable);
    return replay_group(suite_, judge, group, sandbox);
  }

  const HostTensor w_ = filled({8, 4}, 0.2);
  Suite suite_;
};

TEST_F(GroupReplay, GetsOtherInputsAndPassesThemOn) {
  ASSERT_EQ(suite_.calls.size(), 2u);
  const HostTensor x = filled({3, 8}, -0.9);
  const KernelVerdict verdict = unwrap(replay(group(x, trusted(x))));
  EXPECT_EQ(verdict.kernel, suite_.kernels[0].name + " + " + suite_.kernels[1].name);
  EXPECT_TRUE(verdict.passed);
  EXPECT_FALSE(verdict.source_wrong);
  EXPECT_EQ(verdict.elements, 12);
  EXPECT_GT(verdict.worst.allowed, 0);
  EXPECT_LT(verdict.worst.allowed, 1e-4);
  EXPECT_EQ(verdict.worst_output, suite_.kernels[1].params[2]);
}

TEST_F(GroupReplay, ASourceThatIsWrongIsNoFaultOfTheKernels) {
  const HostTensor x = filled({3, 8}, -0.9);
  const KernelVerdict verdict = unwrap(replay(group(x, trusted(x, 1.001))));
  EXPECT_TRUE(verdict.passed);
  EXPECT_TRUE(verdict.source_wrong);
  EXPECT_GT(verdict.worst.source.max_ratio, 1);
}

TEST_F(GroupReplay, BecomesATestOfOneCall) {
  const HostTensor x = filled({3, 8}, -0.9);
  HostTensor y = HostTensor::zeros(DType::kF32, {3, 8});
  const Suite made = with_tensors(suite_, {0}, {{{0, 0}, x}}, {{{0, 1}, y}}, "pytorch");
  EXPECT_EQ(made.source, "pytorch");
  ASSERT_EQ(made.calls.size(), 1u);
  EXPECT_EQ(made.kernels.size(), 1u);
  EXPECT_EQ(made.calls[0].before[0], content_hash(x));
  EXPECT_EQ(made.calls[0].after[1], content_hash(y));
  EXPECT_EQ(made.tensors.size(), 2u);
}

TEST_F(GroupReplay, RefusesWhatDoesNotFit) {
  const HostTensor x = filled({3, 8}, -0.9);
  auto refused = [&](const JoinedCalls& wrong) {
    auto verdict = replay(wrong);
    EXPECT_FALSE(verdict);
    if (!verdict) {
      EXPECT_EQ(verdict.error().kind, ErrorKind::kUser);
    }
  };
  refused(group(filled({3, 7}, 1), trusted(x)));
  refused(group(x, x));
  JoinedCalls wrong = group(x, trusted(x));
  wrong.links[0].from = {1, 2};  // of a later call
  refused(wrong);
  wrong = group(x, trusted(x));
  wrong.outputs[0].place = {1, 0};  // an input
  refused(wrong);
  wrong = group(x, trusted(x));
  wrong.outputs.clear();
  refused(wrong);
  wrong = group(x, trusted(x));
  wrong.calls.push_back(7);
  refused(wrong);
}

}  // namespace
}  // namespace tapml::topdown
