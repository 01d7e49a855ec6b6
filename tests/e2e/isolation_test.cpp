// Kernels under test that crash or never end are findings and do not end the program.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/program.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/suite/carve.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::strings;
using testing::TempFolder;

ProgramResult migrate_with_fault(const std::string& kind, std::vector<std::string> more) {
  std::vector<std::string> args = {
      "migrate",  kDemoModel, "--from",       "cpu", "--to",           "cpu:threads=1",
      "--prompt", "Emma was", "--max-tokens", "2",   "--inject-fault", "rms_norm_485247dc:" + kind,
      "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return run_program(args);
}

// The culprit's step, after checking that it is the only one and that all others migrated.
Json only_culprit(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 1) << result.all();
  Json json = result.json(), culprit;
  EXPECT_EQ(strings(json.find("culprits")), std::vector<std::string>{"rms_norm_485247dc"});
  for (const Json& step : json.find("kernels")->items()) {
    if (step.find("kernel")->as_string() == "rms_norm_485247dc") {
      culprit = step;
    } else {
      EXPECT_TRUE(step.find("migrated")->as_bool()) << step.find("kernel")->as_string();
    }
  }
  EXPECT_EQ(culprit.find("calls")->as_integer(), 14) << "calls that were not run count, too";
  return culprit;
}

TEST(Isolation, ACrashIsAFindingWithItsBacktrace) {
  const Json culprit = only_culprit(migrate_with_fault("crash", {}));
  EXPECT_EQ(culprit.find("outcome")->as_string(), "crash");
  const std::string& text = culprit.find("failure")->as_string();
  EXPECT_NE(text.find("crashed: SIGSEGV"), std::string::npos) << text;
  EXPECT_NE(text.find("(generated code)"), std::string::npos) << text;
}

TEST(Isolation, AnEndlessLoopIsAFinding) {
  const Json culprit = only_culprit(migrate_with_fault("endless-loop", {"--kernel-timeout", "1"}));
  EXPECT_EQ(culprit.find("outcome")->as_string(), "timeout");
  const std::string& text = culprit.find("failure")->as_string();
  EXPECT_NE(text.find("did not end within 1 s"), std::string::npos) << text;
}

TEST(Isolation, InProcessRefusesSuchFaults) {
  ProgramResult result = migrate_with_fault("crash", {"--in-process"});
  EXPECT_EQ(result.exit_code, 2) << result.all();
  EXPECT_NE(result.json().find("error")->find("hint")->as_string().find("--in-process"),
            std::string::npos);
}

TEST(Isolation, InProcessAndOutsideAgree) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ASSERT_EQ(
      run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2", "-o", suite})
          .exit_code,
      0);
  std::vector<std::vector<double>> errors;
  for (const char* where : {"--in-process", "--kernel-timeout=60"}) {
    ProgramResult result = run_program({"replay", suite, "--target", "cpu", where, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    errors.emplace_back();
    const Json json = result.json();
    for (const Json& row : json.find("kernels")->items()) {
      errors.back().push_back(row.find("target")->find("max_abs")->as_double());
    }
  }
  EXPECT_GT(errors[0].size(), 10u);
  EXPECT_EQ(errors[0], errors[1]);
}

// Writes x[i] to y[at[i]] without a bounds check; and doubles x.
constexpr const char* kScatter = R"(
module

prim def scatter(x: Buffer((n,), f32), at: Buffer((n,), i64), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) { y[at[i]] = x[i] }
}

def main(x: Tensor((n,), f32), at: Tensor((n,), i64)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = call_tir(@scatter, (x, at), Tensor((n,), f32))
    z: Tensor((n,), f32) = cumsum(y) {axis: 0}
    output z
  }
  return z
}
)";

// A suite of one run, in which `at` was {1, 0}.
topdown::Suite scatter_suite() {
  auto session = testing::open_session("cpu");
  auto executable =
      pipeline::compile(text::parse(kScatter, "scatter"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  topdown::Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<runtime::Value> args = {
      unwrap(runtime::upload(
          *session, HostTensor::from<float>(DType::kF32, {2}, std::vector<float>{0.5f, 1.5f}))),
      unwrap(runtime::upload(
          *session, HostTensor::from<int64_t>(DType::kI64, {2}, std::vector<int64_t>{1, 0})))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  return carver.take();
}

// Saves the suite with other indices to write to.
void save_with_places(topdown::Suite suite, std::vector<int64_t> endpoints,
                      const std::string& folder) {
  HostTensor at = HostTensor::from<int64_t>(DType::kI64, {2}, std::move(endpoints));
  const std::string hash = content_hash(at);
  suite.tensors.emplace(hash, at);
  for (topdown::SuiteCall& call : suite.calls) {
    for (std::string& before : call.before) {
      if (!before.empty() && suite.tensors.at(before).dtype() == DType::kI64) before = hash;
    }
  }
  unwrap(topdown::save_suite(suite, folder));
}

struct Stray {
  const char* name;
  std::vector<int64_t> endpoints;
  const char* outcome;
  const char* text;
};

void PrintTo(const Stray& stray, std::ostream* out) { *out << stray.name; }

class ReplayStray : public ::testing::TestWithParam<Stray> {};

TEST_P(ReplayStray, IsFoundAndTheNextKernelRuns) {
  TempFolder folder;
  save_with_places(scatter_suite(), GetParam().endpoints, folder / "suite");
  ProgramResult result = run_program({"replay", folder / "suite", "--target", "cpu", "--json"});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json = result.json();
  const auto& rows = json.find("kernels")->items();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].find("failed")->as_string(), GetParam().outcome);
  EXPECT_NE(rows[0].find("failure")->as_string().find(GetParam().text), std::string::npos)
      << rows[0].find("failure")->as_string();
  EXPECT_TRUE(rows[1].find("passed")->as_bool());
  // The same as text output.
  result = run_program({"replay", folder / "suite", "--target", "cpu"});
  EXPECT_NE(result.out.find(GetParam().text), std::string::npos) << result.all();
}

INSTANTIATE_TEST_SUITE_P(
    Places, ReplayStray,
    ::testing::Values(Stray{"unmapped", {1, int64_t{1} << 44}, "crash", "crashed: SIGSEGV"},
                      Stray{"behind", {1, 10}, "out of bounds", "4 bytes after y"},
                      Stray{"in_front", {1, -3}, "out of bounds", "4 bytes before y"},
                      // Beyond the guards, where the protected pages are.
                      Stray{"far_behind",
                            {1, (int64_t{1} << 18) + 2},
                            "out of bounds",
                            "writes 1048576 bytes after y: the session's process crashed: SIGSEGV"},
                      Stray{"far_in_front",
                            {1, -(int64_t{1} << 18)},
                            "out of bounds",
                            "writes 1048576 bytes before y"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml
