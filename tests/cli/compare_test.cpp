// `tapml compare` of the reports of `tapml replay`.
#include <gtest/gtest.h>

#include "io/json.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramResult;
using testing::read_bytes;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

const char* const kTwoKernels = R"(module
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32)) -> Tensor((n, 4), f32) {
  a: Tensor((n, 4), f32) = matmul(x, w)
  b: Tensor((n, 4), f32) = softmax(a) {axis: -1}
  return b
}
)";

// A suite of two kernels, and reports of its replays.
class Compare : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    write_bytes(path("module.tapml"), kTwoKernels);
    const std::vector<std::byte> bytes =
        write_safetensors({{"x", numbers({3, 8})}, {"w", numbers({8, 4})}});
    write_bytes(path("in.safetensors"),
                std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    run({"carve", path("module.tapml"), "--inputs", path("in.safetensors"), "-o", path("suite")},
        0);
    run({"replay", path("suite"), "--report", path("right")}, 0);
    run({"replay", path("suite"), "--report", path("wrong"), "--inject-fault",
         "softmax_:off-by-one"},
        1);
    run({"replay", path("suite"), "--report", path("one"), "--kernel", "matmul_"}, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static HostTensor numbers(const Shape& shape) {
    HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set_f64(i, 0.3 * static_cast<double>(i * 7 % 11 - 5));
    }
    return tensor;
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static void run(const std::vector<std::string>& args, int code) {
    const ProgramResult result = run_program(args);
    ASSERT_EQ(result.exit_code, code) << result.all();
  }
  static ProgramResult compare(const std::string& before, const std::string& after,
                               const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"compare", path(before), path(after)};
    args.insert(args.end(), more.begin(), more.end());
    return run_program(args);
  }
  // The lines of the table that start with the word.
  static int lines(const std::string& text, const std::string& word) {
    int count = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      count += text.compare(at, word.size(), word) == 0 ? 1 : 0;
      at = end + 1;
    }
    return count;
  }

  static TempFolder* folder_;
};
TempFolder* Compare::folder_ = nullptr;

TEST_F(Compare, AReportWithItselfHasNoChange) {
  ProgramResult result = compare("right", "right");
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(result.out, "PASS 0 of 2 kernels worse\n");
  result = compare("right", "right", {"--all"});
  EXPECT_EQ(lines(result.out, "same"), 2) << result.out;
}

TEST_F(Compare, AKernelThatBecameWrongIsWorse) {
  ProgramResult result = compare("right", "wrong");
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_EQ(lines(result.out, "worse"), 1) << result.out;
  EXPECT_EQ(lines(result.out, "same"), 0) << result.out;
  EXPECT_NE(result.out.find("softmax_"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("matmul_"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("FAIL 1 of 2 kernels worse\n"), std::string::npos) << result.out;

  result = compare("wrong", "right", {"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_TRUE(json.find("passed")->as_bool());
  const auto& kernels = json.find("kernels")->items();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].find("change")->as_string(), "better");
  EXPECT_EQ(kernels[1].find("before")->find("outcome")->as_string(), "mismatch");
  EXPECT_EQ(kernels[1].find("after")->find("outcome")->as_string(), "pass");
  EXPECT_LE(kernels[1].find("after")->find("error_over_bound")->as_double(), 1);
}

TEST_F(Compare, KernelsComeAndGo) {
  const ProgramResult more = compare("one", "right"), fewer = compare("right", "one");
  EXPECT_EQ(more.exit_code, 0) << more.all();
  EXPECT_EQ(lines(more.out, "new"), 1) << more.out;
  EXPECT_EQ(lines(fewer.out, "gone"), 1) << fewer.out;
}

TEST_F(Compare, ANewKernelThatIsWrongIsWorse) {
  const ProgramResult result = compare("one", "wrong");
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_EQ(lines(result.out, "worse"), 1) << result.out;
}

TEST_F(Compare, ReportsWithNothingInCommonAreRefused) {
  run({"replay", path("suite"), "--target", "cpu:threads=1", "--report", path("threads")}, 0);
  expect_failure({"compare", path("right"), path("threads")}, 2,
                 {"no kernel in common", "cpu:threads=1", "on cpu before"});
}

TEST_F(Compare, AChangedSpecificationIsMatchedByItsPartOfTheModel) {
  std::string text = read_bytes(path("wrong") + "/report.json");
  const size_t at = text.find("\"softmax_") + 9;
  const std::string hash = text.substr(at, 8);
  for (size_t i; (i = text.find("softmax_" + hash)) != std::string::npos;) {
    text.replace(i + 8, 8, "0badcafe");
  }
  write_bytes(path("renamed.json"), text);
  const ProgramResult result = compare("right", "renamed.json");
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_EQ(lines(result.out, "worse"), 1) << result.out;
  EXPECT_NE(result.out.find("softmax_0badcafe (was softmax_" + hash + ")"), std::string::npos)
      << result.out;
}

TEST_F(Compare, BadFilesAreRefused) {
  expect_failure({"compare", path("right"), path("nowhere")}, 2, {"nowhere"});
  expect_failure({"compare", path("right"), path("suite")}, 2, {"report.json"});
  write_bytes(path("other.json"), "{\"target\": \"cpu\"}");
  expect_failure({"compare", path("right"), path("other.json")}, 2,
                 {"other.json", "not a report", "migrate"});
  const std::string text = read_bytes(path("right") + "/report.json");
  write_bytes(path("cut.json"), text.substr(0, text.size() / 2));
  expect_failure({"compare", path("cut.json"), path("right")}, 2, {"cut.json"});
  std::string odd = text;
  odd.replace(odd.find("\"PASS\""), 6, "\"MAYBE\"");
  write_bytes(path("odd.json"), odd);
  expect_failure({"compare", path("odd.json"), path("right")}, 2, {"odd.json", "verdict", "MAYBE"});
  write_bytes(path("list.json"), "[]");
  expect_failure({"compare", path("list.json"), path("right")}, 2, {"list.json"});
}

}  // namespace
}  // namespace tapml
