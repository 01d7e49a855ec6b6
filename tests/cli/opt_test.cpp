// tapml opt: schedule traces and nested expressions; tapml compile --report-phases.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

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
  // The position of an error inside is the one in the whole text.
  testing::write_bytes(file,
                       "module\ndef main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
                       "  y: Tensor((n, 4), f32) = silu(rel(x))\n  return y\n}\n");
  testing::expect_failure({"compile", file}, 2,
                          {"no operator is called 'rel'", "nested.txt:3:28", "relu"});
}

const char* const kDumped = R"(module
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = exp(x)
    z: Tensor((n, 4), f32) = relu(y)
    output z
  }
  return z
}
)";

TEST(Opt, ReportsWhichPassesChangedTheModule) {
  TempFolder folder;
  const std::string file = folder / "program.txt", dumps = folder / "dumps";
  testing::write_bytes(file, kDumped);
  const std::vector<std::string> args = {"opt", file, "--passes", "canonicalize,legalize"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    ProgramResult result = run_program(more);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result;
  };
  const ProgramResult shown = with({"--dump-diff"});
  EXPECT_TRUE(shown.out.starts_with("pass canonicalize: unchanged (")) << shown.out;
  EXPECT_NE(shown.out.find("\npass legalize: changed 5 functions: 1 altered, 4 new ("),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("\n-    y: Tensor((n, 4), f32) = exp(x)\n"), std::string::npos);
  EXPECT_EQ(shown.out.find("\nmodule\n"), std::string::npos) << "differences alone";
  // Into a folder; the module is still printed.
  const ProgramResult dumped = with({"--dump-ir", dumps});
  EXPECT_EQ(dumped.out, run_program(args).out);
  EXPECT_EQ(testing::names_under(dumps),
            (std::set<std::string>{"01_canonicalize.txt", "02_legalize.diff", "02_legalize.txt",
                                   "passes.log"}));
  EXPECT_EQ(testing::read_bytes(dumps + "/02_legalize.txt"), dumped.out);
  EXPECT_TRUE(testing::read_bytes(dumps + "/02_legalize.diff")
                  .starts_with("--- before legalize\n+++ after legalize\n@@ "));
  const std::string list = testing::read_bytes(dumps + "/passes.log");
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 2) << list;
  EXPECT_NE(list.find("pass legalize: changed 5 functions"), std::string::npos) << list;
  const Json json = with({"--dump-diff", "--json"}).json();
  ASSERT_EQ(json.find("changes")->items().size(), 2u);
  EXPECT_FALSE(json.find("changes")->items()[0].find("changed")->as_bool());
  EXPECT_EQ(json.find("changes")->items()[1].find("new")->as_integer(), 4);
  EXPECT_FALSE(json.find("changes")->items()[1].find("diff")->as_string().empty());
  EXPECT_TRUE(with({"--json"}).json().find("changes")->is_null());
}

TEST(Compile, ReportsWhichPassesChangedTheModule) {
  TempFolder folder;
  const std::string file = folder / "program.txt", dumps = folder / "dumps";
  testing::write_bytes(file, kDumped);
  const ProgramResult result =
      run_program({"compile", file, "--target", "null", "--dump-diff", "--dump-ir", dumps});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("pass match: unchanged ("), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("pass plan_memory: changed 1 function: 1 altered"), std::string::npos)
      << result.out;
  const std::string list = testing::read_bytes(dumps + "/passes.log");
  EXPECT_NE(list.find("pass plan_memory: changed"), std::string::npos) << list;
  EXPECT_NE(list.find("pass lower_launches: changed"), std::string::npos) << list;
  EXPECT_NE(list.find("pass generate_code: made a part of the executable"), std::string::npos)
      << list;
  const std::set<std::string> names = testing::names_under(dumps);
  for (const char* file : {"_plan_memory.diff", "_lower_launches.diff", "_generate_code.log"}) {
    EXPECT_TRUE(std::ranges::any_of(names, [&](const std::string& name) {
      return name.ends_with(file);
    })) << file;
  }
}

TEST(Opt, RefusesPassesWithUnmetRequirements) {
  TempFolder folder;
  const std::string file = folder / "program.txt";
  testing::write_bytes(file, kDumped);
  testing::expect_failure(
      {"opt", file, "--passes", "plan_memory"}, 2,
      {"pass plan_memory requires passes that did not run", "--passes legalize,plan_memory"});
  testing::expect_failure({"opt", file, "--passes", "fuse_ops"}, 2,
                          {"--passes legalize,annotate_patterns,fuse_ops"});
  testing::expect_failure({"opt", file, "--passes", "legalize,plan_memory,dead_code"}, 2,
                          {"pass dead_code does not support planned memory"});
  testing::expect_failure({"opt", file, "--passes", "legalise"}, 2,
                          {"unknown pass", "did you mean 'legalize'?"});
  const ProgramResult planned = run_program({"opt", file, "--passes", "legalize,plan_memory"});
  EXPECT_EQ(planned.exit_code, 0) << planned.all();
  EXPECT_NE(planned.out.find("memory.alloc_storage"), std::string::npos) << planned.out;
}

TEST(Opt, RunsKernelLevelPassesForATarget) {
  TempFolder folder;
  const std::string file = folder / "program.txt";
  testing::write_bytes(file, kDumped);
  const ProgramResult opencl =
      run_program({"opt", file, "--passes", "legalize,schedule", "--target", "opencl", "--verify"});
  ASSERT_EQ(opencl.exit_code, 0) << opencl.all();
  EXPECT_NE(opencl.out.find(" in parallel("), std::string::npos) << opencl.out;
  const ProgramResult cpu =
      run_program({"opt", file, "--passes", "legalize,schedule,lower_math,check_programs",
                   "--target", "cpu", "--verify"});
  ASSERT_EQ(cpu.exit_code, 0) << cpu.all();
  EXPECT_EQ(cpu.out.find("= exp(x["), std::string::npos) << "a polynomial\n" << cpu.out;
  testing::expect_failure({"opt", file, "--passes", "legalize,schedule"}, 2,
                          {"pass schedule requires a target", "--target cpu"});
  testing::expect_failure({"opt", file, "--passes", "schedule", "--target", "cpu"}, 2,
                          {"pass schedule requires passes that did not run", "legalize,schedule"});
}

TEST(Opt, RunsStepsWhoseResultIsNoModule) {
  TempFolder folder;
  const std::string file = folder / "program.txt";
  testing::write_bytes(file, kDumped);
  const std::string formed = "legalize,annotate_patterns,fuse_ops,fuse_tensor_ir";
  auto opt = [&](const std::string& passes) {
    return run_program({"opt", file, "--passes", passes, "--target", "vulkan", "--verify"});
  };
  const ProgramResult launches = opt(formed + ",lower_launches");
  ASSERT_EQ(launches.exit_code, 0) << launches.all();
  EXPECT_NE(launches.out.find("prim def "), std::string::npos) << launches.out;
  EXPECT_EQ(launches.out.find("block \""), std::string::npos) << launches.out;
  const ProgramResult code = opt(formed + ",generate_code");
  ASSERT_EQ(code.exit_code, 0) << code.all();
  EXPECT_NE(code.out.find("module 0: vulkan, spirv, "), std::string::npos) << code.out;
  testing::expect_failure(
      {"opt", file, "--passes", "lower_launches", "--target", "cpu"}, 2,
      {"pass lower_launches requires passes that did not run", "--passes legalize,lower_launches"});
  testing::expect_failure({"opt", file, "--passes", "lower_launches,dead_code"}, 2,
                          {"nothing can follow pass lower_launches", "lower_launches last"});
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
  EXPECT_EQ(passes.back().find("pass")->as_string(), "lower_functions");
  EXPECT_EQ(passes.back().find("kernels")->as_integer(), 1);
  EXPECT_EQ(passes.back().find("programs")->as_integer(), 1);
  EXPECT_TRUE(std::ranges::any_of(passes, [](const Json& pass) {
    return pass.find("pass")->as_string() == "lower_launches" &&
           pass.find("programs")->as_integer() == 1 && pass.find("kernels")->as_integer() == 1;
  }));
  const Json& last = *passes.back().find("functions")->find("main");
  EXPECT_EQ(last.find("calls")->as_integer(), 1);
  EXPECT_EQ(last.find("bytes")->as_integer(), 10 * 4 * 4);
}

}  // namespace
}  // namespace tapml
