// Edge cases of integer inputs and of a cache find faults that a run's own data does not show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"
#include "topdown/suite/carve.h"
#include "topdown/text_fault.h"

namespace tapml::topdown {
namespace {

// The small model's run, and the same with edge cases.
const Suite& suite_without_cases() {
  static const Suite suite = carved();
  return suite;
}
const Suite& suite_with_cases() {
  static const Suite suite = [] {
    Suite made = carved();
    Sandbox source({target::parse_target("cpu"), small_model().session.get()});
    source.load(small_model().executable);
    const EdgeCases cases = add_edge_cases(made, source);
    EXPECT_TRUE(cases.unsupported.empty()) << cases.unsupported.front();
    return made;
  }();
  return suite;
}

class IntegerFaults : public ::testing::TestWithParam<TextFault> {};

TEST_P(IntegerFaults, AreFoundByEdgeCasesAlone) {
  int altered = 0;
  EXPECT_TRUE(failing(suite_without_cases(), GetParam(), altered).empty())
      << "the run's own calls find it";
  ASSERT_GT(altered, 0) << "no kernel has the text";
  EXPECT_EQ(std::ssize(failing(suite_with_cases(), GetParam(), altered)), altered);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, IntegerFaults,
    ::testing::Values(
        TextFault{"NoLastToken", "take",
                  "select(0 <= ", "select(indices[vi, vj] < i32(408) and 0 <= "},
        TextFault{"ZeroIsPadding", "take", "select(0 <= ", "select(0 < "},
        // Wrong if the past ends with its page.
        TextFault{"AppendsToTheFullPage", "kv_append", "(cast(i64, lengths[vi]) + vj)//16",
                  "max(cast(i64, lengths[vi]) + vj - 1, 0)//16"},
        // Leaves the last row of a page, and overwrites the row before it.
        TextFault{"OverwritesAnotherRow", "kv_append", "(cast(i64, lengths[vi]) + vj)%16",
                  "min((cast(i64, lengths[vi]) + vj)%16, 14)"},
        TextFault{"PagesAscend", "paged_attention", "cast(i64, page_table[vi, vl//16])",
                  "(cast(i64, page_table[vi, 0]) + vl//16)%pages"},
        TextFault{"AppendsToAscendingPages", "kv_append",
                  "cast(i64, page_table[vi, (cast(i64, lengths[vi]) + vj)//16])",
                  "(cast(i64, page_table[vi, 0]) + (cast(i64, lengths[vi]) + vj)//16)%pages"},
        TextFault{"SmallAngles", "rope", "cast(i64, lengths[vi])",
                  "min(cast(i64, lengths[vi]), 14)"},
        TextFault{"OneToken", "paged_attention", "vl <= cast(i64, lengths[vi]) + vk",
                  "vl < cast(i64, lengths[vi]) + vk + min(n - 1, 1)", "mqa_tied", "n: i64"}),
    [](const auto& info) { return std::string(info.param.name); });

// A pool has legal rows where a text has tokens, and NaN elsewhere; only new tokens change it.
TEST(IntegerCases, OfACacheChangeTheRowsOfNewTokensAlone) {
  const Suite& suite = suite_with_cases();
  int64_t cases = 0;
  std::set<int64_t> borders;
  for (const SuiteCall& call : suite.calls) {
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
    if (call.function != kEdgeFunction || !kernel.name.starts_with("kv_append")) continue;
    const HostTensor &before = suite.tensors.at(call.before[0]),
                     &after = suite.tensors.at(call.after[0]),
                     &fresh = suite.tensors.at(call.before[1]);
    const int32_t length = suite.tensors.at(call.before[3]).values<int32_t>()[0];
    borders.insert(length % 16);
    int64_t changed = 0;
    for (int64_t i = 0; i < before.size(); ++i) {
      const double old = before.at_f64(i), now = after.at_f64(i);
      changed += old == now || (std::isnan(old) && std::isnan(now)) ? 0 : 1;
    }
    EXPECT_LE(changed, fresh.size());
    ++cases;
  }
  EXPECT_GT(cases, 10);
  EXPECT_TRUE(borders.contains(0) && borders.contains(15));
}

// No kernel reads a row without a token, by its specification.
TEST(IntegerCases, LeadToNoNaN) {
  const Suite& suite = suite_with_cases();
  for (const SuiteCall& call : suite.calls) {
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
    if (kernel.modes.back() != AccessMode::kOut) continue;
    const HostTensor& output = suite.tensors.at(call.after.back());
    for (int64_t i = 0; i < output.size(); ++i) {
      ASSERT_FALSE(std::isnan(output.at_f64(i))) << kernel.name << " " << call.sequence;
    }
  }
}

// The edge cases of a function of one call, whose arguments are `inputs`.
std::vector<HostTensor> made_indices(const char* program, const std::vector<HostTensor>& inputs,
                                     size_t param) {
  const target::Target target = target::parse_target("cpu");
  auto session = testing::open_session("cpu");
  auto executable =
      pipeline::implement(pipeline::form_kernels(text::parse(program, "m.txt")), target);
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<runtime::Value> values;
  for (const HostTensor& input : inputs) {
    values.emplace_back(unwrap(runtime::upload(*session, input)));
  }
  unwrap(vm->call("main", values));
  vm->call_point().set_observer(nullptr);
  Suite suite = carver.take();
  EXPECT_EQ(suite.kernels.size(), 1U);
  const std::string known = suite.calls.at(0).before.at(param);
  Sandbox source({target, session.get()});
  source.load(executable);
  const EdgeCases cases = add_edge_cases(suite, source);
  EXPECT_TRUE(cases.unsupported.empty()) << cases.unsupported.front();
  std::vector<HostTensor> made;
  for (const SuiteCall& call : suite.calls) {
    const HostTensor& indices = suite.tensors.at(call.before.at(param));
    if (call.before[param] != known && indices.size() == inputs[param].size()) {
      made.push_back(indices);
    }
  }
  return made;
}

HostTensor some_floats(Shape shape) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, 0.5 * static_cast<double>(i % 9));
  return tensor;
}
HostTensor some_indices(const std::vector<int32_t>& values) {
  return HostTensor::from<int32_t>(DType::kI32, {std::ssize(values)}, values);
}

TEST(IntegerCases, AreBothEndsOfTheAxisThatIsIndexed) {
  const auto made = made_indices(R"(module
def main(x: Tensor((3, 7), f32), i: Tensor((4,), i32)) -> Tensor((3, 4), f32) {
  dataflow {
    y: Tensor((3, 4), f32) = take(x, i) {axis: 1}
    output y
  }
  return y
}
)",
                                 {some_floats({3, 7}), some_indices({1, 2, 3, 4})}, 1);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(made[0].values<int32_t>(), std::vector<int32_t>{0, 6, 3, 0}));
  EXPECT_TRUE(std::ranges::equal(made[1].values<int32_t>(), std::vector<int32_t>{6, 2, 0, 6}));
}

TEST(IntegerCases, OfWrittenElementsStayDistinct) {
  const auto made = made_indices(R"(module
def main(x: Tensor((7,), f32), i: Tensor((3,), i32), u: Tensor((3,), f32)) -> Tensor((7,), f32) {
  dataflow {
    y: Tensor((7,), f32) = scatter(x, i, u)
    output y
  }
  return y
}
)",
                                 {some_floats({7}), some_indices({0, 2, 5}), some_floats({3})}, 1);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(made[0].values<int32_t>(), std::vector<int32_t>{6, 4, 1}));
}

// What the sum means for the kernel is unknown.
TEST(IntegerCases, AreNotMadeOfIntegersWithAnotherMeaning) {
  const auto made = made_indices(R"(module
def main(x: Tensor((7,), f32), i: Tensor((3,), i32)) -> Tensor((3,), f32) {
  dataflow {
    j: Tensor((3,), i32) = add(i, i)
    y: Tensor((3,), f32) = take(x, j)
    output y
  }
  return y
}
)",
                                 {some_floats({7}), some_indices({0, 1, 2})}, 1);
  EXPECT_TRUE(made.empty());
}

}  // namespace
}  // namespace tapml::topdown
