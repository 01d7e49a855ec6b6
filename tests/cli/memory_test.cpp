// `tapml compile --memory`, `--bound` and `--memory-limit`.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const char* const kThreeProducts = R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  a: Tensor((n, 4), f32) = matmul(x, w)
  b: Tensor((n, 4), f32) = matmul(a, w)
  c: Tensor((n, 4), f32) = matmul(b, w)
  return c
}
)";

class CompileMemory : public ::testing::Test {
 protected:
  CompileMemory() { testing::write_bytes(folder_ / "program.txt", kThreeProducts); }
  ProgramResult compile(std::vector<std::string> more) {
    std::vector<std::string> args = {"compile", folder_ / "program.txt", "--target", "null"};
    args.insert(args.end(), more.begin(), more.end());
    return run_program(args);
  }
  static int64_t peak_of_main(const ProgramResult& result) {
    const Json json = result.json();
    const Json& main = json.find("memory")->find("functions")->items().at(0);
    return main.find("peak_bytes")->as_integer();
  }
  TempFolder folder_;
};

TEST_F(CompileMemory, PeakOverSymbolicVariables) {
  ProgramResult result = compile({"--json", "--memory"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Json json = result.json();
  const Json& main = json.find("memory")->find("functions")->items().at(0);
  EXPECT_EQ(main.find("name")->as_string(), "main");
  // a and c share a storage, since neither is read while the other is written.
  EXPECT_EQ(main.find("peak")->as_string(), "n*32");
  EXPECT_EQ(main.find("storages")->items().size(), 2u);
}

TEST_F(CompileMemory, BytesForValues) {
  ProgramResult result = compile({"--json", "--memory", "n=10"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(peak_of_main(result), 320);
}

TEST_F(CompileMemory, TensorsWithTheirBytes) {
  ProgramResult result = compile({"--memory", "n=10"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  for (const char* part :
       {"main: peak n*32 = 320 bytes", "n*16 = 160 bytes: a (n*16 = 160 bytes), c ("}) {
    EXPECT_NE(result.all().find(part), std::string::npos) << part << "\n" << result.all();
  }
}

TEST_F(CompileMemory, LimitIsMetOrRefused) {
  EXPECT_EQ(compile({"--bound", "n=10", "--memory-limit", "480"}).exit_code, 0);
  ProgramResult refused = compile({"--bound", "n=1000", "--memory-limit", "16K"});
  EXPECT_EQ(refused.exit_code, 4) << refused.all();
  EXPECT_NE(refused.all().find("the limit is 16384"), std::string::npos) << refused.all();
  EXPECT_NE(refused.all().find(": a (n*16 = 15.6 KiB)"), std::string::npos) << refused.all();
  ProgramResult open = compile({"--memory-limit", "16K"});
  EXPECT_EQ(open.exit_code, 2) << open.all();
  EXPECT_NE(open.all().find("--bound n=512"), std::string::npos) << open.all();
}

// In source order, two wide products are live at the same time.
TEST_F(CompileMemory, LimitIsMetByReordering) {
  testing::write_bytes(folder_ / "program.txt", R"(
def main(x: Tensor((n, 4), f32), v: Tensor((4, 256), f32), w: Tensor((4, 256), f32), u: Tensor((256, 1), f32)) -> Tensor((n, 1), f32) {
  dataflow {
    a: Tensor((n, 256), f32) = matmul(x, v)
    b: Tensor((n, 256), f32) = matmul(x, w)
    c: Tensor((n, 1), f32) = matmul(a, u)
    d: Tensor((n, 1), f32) = matmul(b, u)
    y: Tensor((n, 1), f32) = add(c, d)
    output y
  }
  return y
}
)");
  const int64_t wide = 8 * 256 * 4;
  const std::string limit = std::to_string(wide + 3 * 32);
  ProgramResult kept = compile({"--json", "--memory", "n=8", "--memory-limit", limit});
  ASSERT_EQ(kept.exit_code, 0) << kept.all();
  EXPECT_LT(peak_of_main(kept), 2 * wide);
  ProgramResult bounded = compile({"--bound", "n=8", "--memory-limit", limit});
  EXPECT_EQ(bounded.exit_code, 0) << bounded.all();
  EXPECT_GE(peak_of_main(compile({"--json", "--memory", "n=8"})), 2 * wide)
      << "without a limit the order is that of the program";
  ProgramResult refused = compile({"--bound", "n=8", "--memory-limit", std::to_string(wide - 1)});
  EXPECT_EQ(refused.exit_code, 4) << refused.all();
}

TEST_F(CompileMemory, RefusesMalformedValues) {
  for (std::vector<std::string> bad : {std::vector<std::string>{"--memory-limit", "much"},
                                       {"--bound", "n"},
                                       {"--bound", "=4"},
                                       {"--bound", "n=-1"},
                                       {"--memory", "n=4x"}}) {
    ProgramResult result = compile(bad);
    EXPECT_EQ(result.exit_code, 2) << bad[0] << " " << bad[1] << "\n" << result.all();
  }
}

// An option without an effect is an error.
TEST_F(CompileMemory, VariablesThatNoFunctionHas) {
  for (const auto& [option, value, found] :
       {std::tuple{"--bound", "N=8", "found: N"}, std::tuple{"--bound", "n=8,q=3", "found: q"},
        std::tuple{"--memory", "m=4", "found: m"}}) {
    ProgramResult result = compile({option, value});
    EXPECT_EQ(result.exit_code, 2) << result.all();
    for (const std::string part :
         {"no function of the module has this symbolic variable", "expected: n", found, option}) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.all();
    }
  }
  // A variable that a given shape has replaced was a variable of the module.
  EXPECT_EQ(compile({"--bind", "main.n=4", "--memory", "n=4"}).exit_code, 0);
  const std::string source = testing::read_bytes(folder_ / "program.txt");
  testing::write_bytes(folder_ / "program.txt", "module {bound.k: 3, bound.n: 4}\n" + source);
  ProgramResult warned = compile({});
  EXPECT_EQ(warned.exit_code, 0) << warned.all();
  EXPECT_NE(warned.err.find("bound.k bounds nothing"), std::string::npos) << warned.all();
  EXPECT_EQ(warned.err.find("bound.n bounds nothing"), std::string::npos) << warned.all();
}

// Variables that passes name can be used as well.
TEST_F(CompileMemory, VariablesOfThePlan) {
  testing::write_bytes(folder_ / "program.txt", R"(
def main(x: Tensor((n,), f32)) -> Tensor(ndim=2, i32) {
  y: Tensor(ndim=2, i32) = nonzero(x)
  return y
}
)");
  ProgramResult open = compile({"--json", "--memory"});
  ASSERT_EQ(open.exit_code, 0) << open.all();
  const Json json = open.json();
  const std::string peak =
      json.find("memory")->find("functions")->items().at(0).find("peak")->as_string();
  const size_t at = peak.find_first_of("abcdefghijklmopqrstuvwxyz");  // none of them is n
  ASSERT_NE(at, std::string::npos) << peak;
  const std::string name = peak.substr(at, peak.find_first_of("*+ ,)", at) - at);
  ProgramResult result = compile({"--memory", "n=8," + name + "=3", "--bound", name + "=5"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
}

TEST_F(CompileMemory, ABoundAndAShapeThatContradictEachOther) {
  ProgramResult result = compile({"--bound", "n=2", "--bind", "main.n=3"});
  EXPECT_EQ(result.exit_code, 2) << result.all();
  for (const char* part : {"above the variable's bound", "n <= 2", "found: 3"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.all();
  }
  EXPECT_EQ(compile({"--bound", "n=3", "--bind", "main.n=3"}).exit_code, 0);
}

TEST_F(CompileMemory, BytesThatOverflow) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--memory", "n=4611686018427387904"},
        {"--memory", "n=4611686018427387904", "--json", "-o", folder_ / "none.tapml"},
        {"--bound", "n=4611686018427387904", "--memory-limit", "1G"}}) {
    ProgramResult result = compile(more);
    EXPECT_EQ(result.exit_code, 2) << result.all();
    for (const char* part : {"cannot be counted", "below 2^63", "n=4611686018427387904"}) {
      EXPECT_NE(result.all().find(part), std::string::npos) << part << "\n" << result.all();
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.tapml"));
}

}  // namespace
}  // namespace tapml
