// Commands find kernels by name, prefix and pattern, and report unknown ones.
#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "support/program.h"
#include "tensor/host_tensor.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramResult;
using testing::run_program;

const char* const kLookedUp = R"(module
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32)) -> Tensor((n, 4), f32) {
  a: Tensor((n, 4), f32) = matmul(x, w)
  b: Tensor((n, 4), f32) = softmax(a) {axis: -1}
  c: Tensor((n,), f32) = sum(b) {axes: [1]}
  return b
}
)";

class KernelLookup : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_bytes(folder_ / "module.txt", kLookedUp);
    HostTensor x = HostTensor::zeros(DType::kF32, {2, 8});
    HostTensor w = HostTensor::zeros(DType::kF32, {8, 4});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>(i % 5) - 2);
    for (int64_t i = 0; i < w.size(); ++i) w.set_f64(i, static_cast<double>(i % 3) / 4);
    const std::vector<std::byte> bytes = write_safetensors({{"x", x}, {"w", w}});
    testing::write_bytes(folder_ / "in.safetensors",
                         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    const ProgramResult carved =
        run_program({"carve", folder_ / "module.txt", "-o", suite_, "--function", "main",
                     "--inputs", folder_ / "in.safetensors"});
    ASSERT_EQ(carved.exit_code, 0) << carved.all();
  }
  static size_t kernels_of(const ProgramResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json().find("kernels")->items().size();
  }

  testing::TempFolder folder_;
  const std::string suite_ = folder_ / "suite";
};

TEST_F(KernelLookup, ReplaySelectsTheNamedKernels) {
  for (const char* name : {"softmax", "soft*", "s?ftmax_*"}) {
    const ProgramResult one = run_program({"replay", suite_, "--kernel", name});
    EXPECT_EQ(one.exit_code, 0) << one.all();
    EXPECT_EQ(one.last_line(), "PASS 1 of 1 kernel, 1 call") << name;
  }
  EXPECT_EQ(kernels_of(run_program({"replay", suite_, "--kernel", "*m*", "--json"})), 3u);
  expect_failure({"replay", suite_, "--kernel", "sofmax"}, 2,
                 {"the suite has no such kernel", "--kernel", "matmul_", "did you mean 'softmax_"});
}

TEST_F(KernelLookup, SuitesAreShownPrunedAndExported) {
  const ProgramResult shown = run_program({"suite", "show", suite_, "matmul", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.all();
  EXPECT_TRUE(shown.json().find("kernel")->as_string().starts_with("matmul_"));
  expect_failure({"suite", "show", suite_, "*"}, 2, {"several kernels of the suite", "KERNEL"});
  expect_failure({"suite", "show", suite_, "matmull"}, 2, {"did you mean 'matmul_"});
  const ProgramResult pruned =
      run_program({"suite", "prune", suite_, "--kernel", "s*", "-o", folder_ / "two", "--json"});
  ASSERT_EQ(pruned.exit_code, 0) << pruned.all();
  EXPECT_EQ(pruned.json().find("kernels")->as_integer(), 2) << "softmax and sum";
  expect_failure({"suite", "prune", suite_, "--kernel", "sun", "-o", folder_ / "none"}, 2,
                 {"--kernel", "did you mean 'sum_"});
  const ProgramResult files = run_program(
      {"suite", "export", suite_, "--npz", "--kernel", "s*", "-o", folder_ / "npz", "--json"});
  ASSERT_EQ(files.exit_code, 0) << files.all();
  EXPECT_EQ(files.json().find("files")->items().size(), 2u);
  expect_failure({"suite", "export", suite_, "--npz", "--kernel", "x", "-o", folder_ / "no"}, 2,
                 {"no such kernel"});
}

TEST_F(KernelLookup, FaultsAndSkeletonsNeedOneKernel) {
  const ProgramResult faulty =
      run_program({"replay", suite_, "--inject-fault", "matm*:off-by-one", "--kernel", "matmul"});
  EXPECT_EQ(faulty.exit_code, 1) << faulty.all();
  expect_failure({"replay", suite_, "--inject-fault", "s*:off-by-one"}, 2,
                 {"several kernels", "--inject-fault"});
  expect_failure({"replay", suite_, "--inject-fault", "matmull:off-by-one"}, 2,
                 {"no such kernel", "did you mean 'matmul_"});
  expect_failure({"replay", suite_, "--inject-fault", "matmul:off-by-one", "--kernel", "s*"}, 2,
                 {"a kernel that is not run", "softmax_"});
  const ProgramResult skeleton =
      run_program({"kernel", "skeleton", suite_, "soft*", "--target", "opencl"});
  EXPECT_EQ(skeleton.exit_code, 0) << skeleton.all();
  expect_failure({"kernel", "skeleton", suite_, "sofmax"}, 2, {"did you mean 'softmax_"});
  expect_failure({"kernel", "show", folder_ / "module.txt", "sofmax"}, 2,
                 {"the model has no such kernel", "did you mean 'softmax_"});
}

TEST_F(KernelLookup, TolerancesUseTheSameNames) {
  testing::write_bytes(folder_ / "loose.json",
                       R"({"tolerances": [{"kernel": "softmax", "factor": 2, "reason": "r"},
                                          {"kernel": "matmull", "factor": 2, "reason": "r"}]})");
  const ProgramResult result =
      run_program({"replay", suite_, "--tolerance", folder_ / "loose.json"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("\"matmull\" applies to no kernel (r); did you mean 'matmul_"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("\"softmax\""), std::string::npos) << result.err;
}

// The command on the page repeats the options that decide how kernels are launched.
TEST_F(KernelLookup, TheReportRepeatsTheLaunches) {
  const ProgramResult result =
      run_program({"replay", suite_, "--inject-fault", "matmul:off-by-one", "--launches", "33",
                   "--launch-seed", "7", "--report", folder_ / "report"});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  const std::string page = testing::read_bytes(folder_ / "report/report.html");
  // In the command for all kernels, and in the one for the faulty kernel.
  const std::string words = " --launches 33 --launch-seed 7";
  const size_t first = page.find(words);
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(page.find(words, first + 1), std::string::npos);
}

}  // namespace
}  // namespace tapml
