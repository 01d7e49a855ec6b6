// `tapml compile` and `tapml opt`.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "support/program.h"
#include "text/parser.h"
#include "text/structural.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const char* const kMatmulSilu = R"(module {phase: "import", fusion_policy: "default"}

def main(x: Tensor((n, 4), f32), w: Tensor((4, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w) {transpose_b: false}
    b: Tensor((n, 8), f32) = silu(a)
    output b
  }
  return b
}
)";

TEST(Compile, ConfigurationWithoutWeights) {
  TempFolder folder;
  std::filesystem::copy_file(testing::kDemoModel + "/config.json", folder / "config.json");
  ProgramResult result = run_program({"compile", "--config", folder / "config.json", "--target",
                                      "opencl", "--time-passes", "--verify", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Json json = result.json();
  EXPECT_EQ(json.find("target")->as_string(), "opencl");
  EXPECT_GT(json.find("kernels")->items().size(), 20u);
  EXPECT_GT(json.find("code_bytes")->as_integer(), 1000);
  std::set<std::string> passes;
  for (const Json& pass : json.find("passes")->items()) {
    passes.insert(pass.find("pass")->as_string());
    EXPECT_GE(pass.find("seconds")->as_double(), 0);
  }
  for (const char* pass :
       {"legalize", "fuse_ops", "schedule", "lower_launches", "record_requirements", "plan_memory",
        "generate_code", "lower_functions"}) {
    EXPECT_TRUE(passes.contains(pass)) << pass;
  }
}

TEST(Compile, TextModuleOnEveryTargetWithDumps) {
  TempFolder folder;
  testing::write_bytes(folder / "program.txt", kMatmulSilu);
  auto is_legalized = [](const std::string& name) { return name.ends_with("_legalize.txt"); };
  for (const char* target : {"cpu", "opencl", "vulkan", "wasm", "webgpu", "null"}) {
    const std::string dumps = folder / target;
    ProgramResult result = run_program(
        {"compile", folder / "program.txt", "--target", target, "--dump-ir", dumps, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    EXPECT_EQ(result.json().find("kernels")->items().size(), 1u) << target;
    std::set<std::string> names = testing::names_under(dumps);
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), is_legalized)) << target;
    // Every dump is a module that the program can read.
    for (const std::string& name : names) {
      if (!name.ends_with(".txt")) continue;  // the diff
      ProgramResult again = run_program({"opt", dumps + "/" + name});
      EXPECT_EQ(again.exit_code, 0) << name << "\n" << again.all();
      EXPECT_EQ(again.out, testing::read_bytes(dumps + "/" + name)) << name;
    }
  }
}

TEST(Compile, PatternsMakeKernels) {
  const std::string file = std::string(TAPML_SOURCE_DIR) + "/examples/patterns/gated_mlp.txt";
  ProgramResult result =
      run_program({"compile", testing::kDemoModel, "--patterns", file, "--json", "--verify"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  int matched = 0, apart = 0;
  Json json = result.json();
  for (const Json& kernel : json.find("kernels")->items()) {
    const std::string& name = kernel.find("name")->as_string();
    matched += name.starts_with("matmul_matmul_silu_multiply_");
    apart += name.starts_with("matmul_silu_multiply_");
  }
  EXPECT_EQ(matched, 2) << "one for prefill, one for decode";
  EXPECT_EQ(apart, 0);
}

TEST(Compile, PassesCanBeSkipped) {
  ProgramResult result = run_program({"compile", testing::kDemoModel, "--skip-pass",
                                      "fuse_ops,plan_memory", "--json", "--verify"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  int fused = 0, alone = 0;
  Json json = result.json();
  for (const Json& kernel : json.find("kernels")->items()) {
    const std::string& name = kernel.find("name")->as_string();
    fused += name.starts_with("matmul_silu_multiply_");
    alone += name.starts_with("silu_");
  }
  EXPECT_EQ(fused, 0);
  EXPECT_EQ(alone, 2) << "one for prefill, one for decode";
  ProgramResult plain = run_program({"compile", testing::kDemoModel, "--skip-pass",
                                     "schedule,choose_routines,find_cached", "--json"});
  ASSERT_EQ(plain.exit_code, 0) << plain.all();
  const Json compiled = plain.json();
  EXPECT_EQ(compiled.find("cached_kernels")->as_integer(), 0);
  for (const Json& kernel : compiled.find("kernels")->items()) {
    const std::string& implementation = kernel.find("implementation")->as_string();
    EXPECT_TRUE(implementation == "schedule:fallback" || implementation == "schedule:as_written")
        << implementation << ", by no rule for processors and no routine";
  }
  testing::expect_failure({"compile", testing::kDemoModel, "--skip-pass", "legalize"}, 2,
                          {"cannot be skipped", "fuse_ops", "legalize"});
  testing::expect_failure({"compile", testing::kDemoModel, "--skip-pass", "nope"}, 2,
                          {"--skip-pass", ", plan_memory", "nope"});
}

TEST(Compile, RefusesInvalidPatterns) {
  TempFolder folder;
  const std::string file = folder / "patterns.txt";
  testing::write_bytes(file, "module\n\ndef f(x: Object) -> Object {\n  return x\n}\n");
  testing::expect_failure(
      {"compile", testing::kDemoModel, "--patterns", file}, 2,
      {"a file of patterns contains another function", "patterns.txt:3:5", "pattern: true", "@f"});
  testing::write_bytes(file, R"(def prefill(x: Object) -> Object {pattern: true} {
  dataflow {
    y: Object = exp(x)
    output y
  }
  return y
}
)");
  testing::expect_failure({"compile", testing::kDemoModel, "--patterns", file}, 2,
                          {"a pattern has the name of a function of the module", "@prefill"});
  testing::expect_failure({"compile", testing::kDemoModel, "--patterns", folder / "none.txt"}, 2,
                          {"none.txt"});
}

TEST(Compile, NeedsExactlyOneInput) {
  testing::expect_failure({"compile"}, 2, {"MODEL or --config", "neither"});
  testing::expect_failure({"compile", testing::kDemoModel, "--config", "config.json"}, 2,
                          {"MODEL or --config", "both"});
}

TEST(Opt, ListsItsPasses) {
  ProgramResult result = run_program({"opt", "--list-passes", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  std::vector<std::string> names;
  Json json = result.json();
  for (const Json& pass : json.find("passes")->items()) {
    names.push_back(pass.find("name")->as_string());
    EXPECT_FALSE(pass.find("doc")->as_string().empty()) << names.back();
  }
  ASSERT_GE(names.size(), 5u);
  EXPECT_NE(std::find(names.begin(), names.end(), "legalize"), names.end());
  ProgramResult plain = run_program({"opt", "--list-passes"});
  for (const std::string& name : names) {
    EXPECT_NE(plain.out.find(name + "  ("), std::string::npos) << plain.out;
  }
}

TEST(Opt, RunsPassesInOrder) {
  TempFolder folder;
  testing::write_bytes(folder / "program.txt", kMatmulSilu);
  ProgramResult same = run_program({"opt", folder / "program.txt", "--verify"});
  ASSERT_EQ(same.exit_code, 0) << same.all();
  EXPECT_NE(same.out.find("silu(a)"), std::string::npos) << same.out;

  ProgramResult legal =
      run_program({"opt", folder / "program.txt", "--passes", "legalize", "--verify"});
  ASSERT_EQ(legal.exit_code, 0) << legal.all();
  EXPECT_NE(legal.out.find("prim def silu_"), std::string::npos) << legal.out;

  ProgramResult fused =
      run_program({"opt", folder / "program.txt", "--passes",
                   "legalize,annotate_patterns,fuse_ops,fuse_tensor_ir,dead_code", "--verify"});
  ASSERT_EQ(fused.exit_code, 0) << fused.all();
  EXPECT_NE(fused.out.find("matmul_silu_"), std::string::npos) << fused.out;
  EXPECT_EQ(fused.out.find("prim def silu_"), std::string::npos) << fused.out;

  ProgramResult json =
      run_program({"opt", folder / "program.txt", "--passes", "legalize", "--json"});
  EXPECT_EQ(json.json().find("text")->as_string(), legal.out);

  // A printed module can be the input of the next passes.
  testing::write_bytes(folder / "legal.txt", legal.out);
  ProgramResult rest =
      run_program({"opt", folder / "legal.txt", "--passes",
                   "annotate_patterns,fuse_ops,fuse_tensor_ir,dead_code", "--verify"});
  ASSERT_EQ(rest.exit_code, 0) << rest.all();
  // Except for the names of variables in programs, which pass through the text once more.
  EXPECT_TRUE(
      text::structural_equal(text::parse(rest.out, "rest"), text::parse(fused.out, "fused")))
      << rest.out << fused.out;
}

TEST(Opt, BindsShapes) {
  TempFolder folder;
  testing::write_bytes(folder / "p.txt", kMatmulSilu);
  ProgramResult result = run_program({"opt", folder / "p.txt", "--bind", "main.n=3"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("a: Tensor((3, 8), f32) = matmul(x, w)"), std::string::npos)
      << result.all();
  const std::string file = folder / "p.txt";
  testing::expect_failure({"opt", file, "--bind", "n=3"}, 2, {"FUNCTION.VARIABLE=VALUE", "n=3"});
  testing::expect_failure({"opt", file, "--bind", "main.n=x"}, 2, {"FUNCTION.VARIABLE=VALUE"});
  for (const char* large : {"main.n=99999999999999999999", "main.n=-9223372036854775809"}) {
    testing::expect_failure({"opt", file, "--bind", large}, 2, {"beyond 64-bit integers", large});
  }
  testing::expect_failure({"opt", file, "--bind", "main.n=-1"}, 2,
                          {"a dimension cannot be negative", "variable n", "0 or more"});
  testing::expect_failure({"opt", file, "--bind", "main.k=3"}, 2,
                          {"no such symbolic variable", "function main", "k"});
  testing::expect_failure({"opt", file, "--bind", "main.n=3,main.n=4"}, 2, {"bound twice"});
  testing::expect_failure({"compile", file, "--bind", "max.n=3"}, 2,
                          {"there is no function to specialize", "main", "max"});
}

// Without the value a loop is a function of its own.
TEST(Compile, DecidesLoopsThatAreBound) {
  TempFolder folder;
  testing::write_bytes(folder / "p.txt", R"(module
def main(x: Tensor((4,), f32), s: Shape((n,))) -> Tensor((4,), f32) {
  y: Tensor((4,), f32) = for i in range(n) (a: Tensor((4,), f32) = x) {
    dataflow {
      b: Tensor((4,), f32) = exp(a)
      output b
    }
    yield b
  }
  return y
}
)");
  auto functions = [&](std::vector<std::string> options) {
    const std::string dumps = folder / ("dumps" + std::to_string(options.size()));
    options.insert(options.begin(), {"compile", folder / "p.txt", "--dump-ir", dumps});
    const ProgramResult result = run_program(options);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dumps)) {
      if (!entry.path().filename().string().ends_with("lower_functions.log")) continue;
      std::istringstream lines(testing::read_bytes(entry.path()));
      for (std::string line; std::getline(lines, line);) count += line.starts_with("function ");
    }
    return count;
  };
  EXPECT_EQ(functions({}), 2);
  EXPECT_EQ(functions({"--bind", "main.n=3"}), 1);
}

TEST(Opt, BadText) {
  TempFolder folder;
  const std::string file = folder / "program.txt";
  testing::expect_failure({"opt"}, 2, {"no text module"});
  testing::expect_failure({"opt", folder / "none.txt"}, 2, {"none.txt"});
  std::string text = kMatmulSilu;
  testing::write_bytes(file, text.replace(text.find("dataflow"), 8, "datafrow"));
  testing::expect_failure({"opt", file}, 2, {"program.txt:4:"});
  testing::write_bytes(file, kMatmulSilu);
  testing::expect_failure({"opt", file, "--passes", "legalise"}, 2,
                          {"unknown pass", "legalize", "legalise"});
  // The text parses, but the annotation differs from what the operator deduces.
  text = kMatmulSilu;
  testing::write_bytes(file, text.replace(text.find("return b"), 8, "return q"));
  testing::expect_failure({"opt", file, "--verify"}, 2, {"program.txt"});
}

}  // namespace
}  // namespace tapml
