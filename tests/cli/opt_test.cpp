// tapml opt: schedule traces and nested expressions; tapml compile --report-phases.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const char* const kScale = R"(module
prim def scale(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) {
    block "scale" (v: spatial(n) = i) {
      reads x[v]
      writes y[v]
      y[v] = x[v] * f32(2.0)
    }
  }
}
)";

TEST(Opt, ReplaysATrace) {
  TempFolder folder;
  const std::string file = folder / "scale.txt", trace = folder / "scale.trace";
  testing::write_bytes(file, kScale);
  testing::write_bytes(trace,
                       "%b = block(\"scale\")\n%i = loops(%b)\n"
                       "%i_0, %i_1 = split(%i, factors=[?, 4])\nparallel(%i_0)\n");
  for (const std::string& option : {trace, "scale=" + trace}) {
    ProgramResult result = run_program({"opt", file, "--trace", option, "--verify"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    EXPECT_NE(result.out.find("in parallel((n + 3)//4)"), std::string::npos) << result.out;
  }
  testing::expect_failure({"opt", file, "--trace", "other=" + trace}, 2,
                          {"a trace needs a tensor program", "scale", "other"});
  testing::expect_failure({"opt", file, "--trace", (folder / "none")}, 2, {"none"});
  testing::write_bytes(trace, "%b = block(\"nobody\")\n");
  testing::expect_failure({"opt", file, "--trace", trace}, 2, {"nobody"});
  testing::write_bytes(file, "module\ndef main(x: Object) -> Object { return x }\n");
  testing::expect_failure({"opt", file, "--trace", trace}, 2, {"no tensor program"});
}

TEST(Opt, NestedExpressionsBecomeBindings) {
  TempFolder folder;
  const std::string file = folder / "nested.txt";
  testing::write_bytes(file,
                       "module\ndef main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
                       "  return silu(relu(x))\n}\n");
  ProgramResult result = run_program({"opt", file, "--verify"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("result_0: Tensor((n, 4), f32) = relu(x)"), std::string::npos)
      << result.out;
  EXPECT_EQ(run_program({"compile", file, "--target", "null"}).exit_code, 0);
  // A fault inside has the place of the whole.
  testing::write_bytes(file,
                       "module\ndef main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
                       "  y: Tensor((n, 4), f32) = silu(rel(x))\n  return y\n}\n");
  testing::expect_failure({"compile", file}, 2,
                          {"no operator is called 'rel'", "nested.txt:3:28", "relu"});
}

TEST(Compile, ReportsPhases) {
  TempFolder folder;
  const std::string file = folder / "program.txt", report = folder / "phases.json";
  testing::write_bytes(
      file,
      "module\ndef main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
      "  dataflow {\n    y: Tensor((n, 4), f32) = silu(relu(x))\n    output y\n  }\n"
      "  return y\n}\n");
  ProgramResult result = run_program(
      {"compile", file, "--target", "null", "--memory=n=10", "--report-phases", report});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Result<Json> json = parse_json(testing::read_bytes(report), report);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("values")->find("n")->as_integer(), 10);
  const auto& passes = json->find("passes")->items();
  ASSERT_GT(passes.size(), 5u);
  EXPECT_EQ(passes.front().find("pass")->as_string(), "read");
  const Json& first = *passes.front().find("functions")->find("main");
  EXPECT_EQ(first.find("calls")->as_integer(), 2);
  EXPECT_EQ(first.find("bytes")->as_integer(), 2 * 10 * 4 * 4);
  EXPECT_EQ(passes.front().find("kernels")->as_integer(), 0);
  EXPECT_EQ(passes.back().find("pass")->as_string(), "plan_memory");
  EXPECT_EQ(passes.back().find("kernels")->as_integer(), 1);
  const Json& last = *passes.back().find("functions")->find("main");
  EXPECT_EQ(last.find("calls")->as_integer(), 1);
  EXPECT_EQ(last.find("bytes")->as_integer(), 10 * 4 * 4);
}

}  // namespace
}  // namespace tapml
