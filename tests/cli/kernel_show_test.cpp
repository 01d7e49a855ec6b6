// tapml kernel show: a kernel's specification, loops and code.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;

const char* const kShownModule = R"(module
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = exp(x)
    z: Tensor((n,), f32) = sum(y) {axes: [1]}
    w: Tensor((n, 4), f32) = softmax(y)
    output w
  }
  return w
}
)";

class KernelShow : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_bytes(file_, kShownModule); }
  ProgramResult show(std::vector<std::string> args) const {
    args.insert(args.begin(), {"kernel", "show", file_});
    return run_program(args);
  }
  testing::TempFolder folder_;
  const std::string file_ = folder_ / "module.txt";
};

TEST_F(KernelShow, OfEveryTarget) {
  const ProgramResult names = show({});
  ASSERT_EQ(names.exit_code, 0) << names.all();
  EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 3) << names.out;
  const size_t begin = names.out.find("softmax_"), end = names.out.find(' ', begin);
  ASSERT_NE(end, std::string::npos) << names.out;
  const std::string kernel = names.out.substr(begin, end - begin);
  const std::map<std::string, std::string> code = {{"cpu", "retq"},
                                                   {"opencl", "__kernel"},
                                                   {"vulkan", "#version"},
                                                   {"wasm", ".functype"},
                                                   {"webgpu", "@compute"}};
  for (const auto& [target, part] : code) {
    const ProgramResult shown = show({kernel, "--target", target});
    ASSERT_EQ(shown.exit_code, 0) << shown.all();
    for (const std::string& text :
         {std::string("used by main"), "def " + kernel, std::string("softmax("),
          std::string("# Loops for " + target + " (schedule:"), std::string("prim def " + kernel),
          std::string("# Code for " + target), part}) {
      EXPECT_NE(shown.out.find(text), std::string::npos) << text << "\n" << shown.out;
    }
  }
  // By prefix, by pattern, and as JSON.
  for (const std::string& name :
       {kernel.substr(0, 5), "*softmax*" + kernel.substr(kernel.size() - 4)}) {
    const ProgramResult found = show({name, "--json"});
    ASSERT_EQ(found.exit_code, 0) << found.all();
    const Json json = found.json();
    EXPECT_EQ(json.find("kernel")->as_string(), kernel);
    EXPECT_EQ(json.find("language")->as_string(), "assembly");
    EXPECT_FALSE(json.find("code")->as_string().empty());
  }
}

TEST_F(KernelShow, ReportsUnknownKernels) {
  testing::expect_failure({"kernel", "show", file_, "nobody"}, 2, {"no such kernel", "softmax"});
  testing::expect_failure({"kernel", "show", folder_ / "none", "nobody"}, 2, {"none"});
  testing::expect_failure({"kernel", "show", testing::kDemoModel, "matmul"}, 2,
                          {"several kernels", "matmul"});
  const ProgramResult own =
      run_program({"kernel", "show", testing::kDemoModel, "argm*", "--target", "opencl"});
  ASSERT_EQ(own.exit_code, 0) << own.all();
  EXPECT_NE(own.out.find("used by sample: sample"), std::string::npos) << own.out.substr(0, 500);
  EXPECT_NE(own.out.find("made by src/models/decoder.cpp:"), std::string::npos) << own.out;
  const ProgramResult all = run_program({"kernel", "show", testing::kDemoModel});
  for (const char* part :
       {"kernel ", " in", "\n    model.layers.{0..5}.self_attn", " decode\n", " both\n"}) {
    EXPECT_NE(all.out.find(part), std::string::npos) << part << "\n" << all.out;
  }
}

}  // namespace
}  // namespace tapml
