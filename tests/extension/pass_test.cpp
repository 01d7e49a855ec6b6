// A pass is added from outside: it is passed to compile(), and no file of src/ changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "text/printer.h"
#include "toy_pass.h"

namespace tapml {
namespace {

constexpr const char* kCosOfAbs = R"(module

def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = abs(x)
    b: Tensor((n,), f32) = cos(a)
    c: Tensor((n,), f32) = exp(b)
    output c
  }
  return c
}
)";

std::string kernels_of(const Executable& executable) {
  std::string names;
  for (const KernelInfo& kernel : executable.kernels) names += kernel.name + " ";
  return names;
}

TEST(ToyPass, RunsAfterTheOneItNamesAndThePolicyNamesIt) {
  const Module module = text::parse(kCosOfAbs, "m.txt");
  const target::Target target = target::parse_target("cpu");
  EXPECT_NE(kernels_of(*pipeline::compile(module, target)).find("abs"), std::string::npos);

  pipeline::ImplementOptions options;
  std::vector<std::string> order;
  options.instruments.verify = true;
  options.instruments.after = [&](const std::string& pass, const Module&) {
    order.push_back(pass);
  };
  options.instruments.added = {testing::cos_of_abs_pass()};
  const auto executable = pipeline::compile(module, target, options);
  EXPECT_EQ(kernels_of(*executable).find("abs"), std::string::npos) << kernels_of(*executable);
  EXPECT_NE(executable->fusion_policy.find("+pass:cos_of_abs"), std::string::npos)
      << executable->fusion_policy;
  const auto at = std::ranges::find(order, "cos_of_abs");
  ASSERT_NE(at, order.end());
  EXPECT_EQ(*std::prev(at), "simplify_graph");
}

TEST(ToyPass, IsRefusedWhereNoPassIsAdded) {
  const Module module = text::parse(kCosOfAbs, "m.txt");
  auto compiled = [&](pipeline::AddedPass pass) {
    pipeline::Instruments instruments;
    instruments.added = {std::move(pass)};
    pipeline::form_kernels(module, instruments);
  };
  pipeline::AddedPass pass = testing::cos_of_abs_pass();
  pass.after = "plan_memory";
  testing::expect_user_error([&] { compiled(pass); },
                             {"cos_of_abs", "after plan_memory", "simplify_graph"});
  pass = testing::cos_of_abs_pass();
  pass.name = "legalize";
  testing::expect_user_error([&] { compiled(pass); }, {"is taken", "legalize"});
}

// The page lists what the toys are written against.
TEST(ExtensionPage, ListsEveryHeaderThatTheToysInclude) {
  const std::string root = std::string(TAPML_SOURCE_DIR) + "/";
  const std::string page = testing::read_bytes(root + "docs/extend-the-compiler.md");
  std::string code;
  for (const char* file : {"toy_operator.h", "toy_operator.cpp", "toy_pass.h", "toy_pass.cpp"}) {
    code += testing::read_bytes(root + "tests/extension/" + file);
  }
  const std::regex include("#include \"([^\"]+/[^\"]+)\"");
  int headers = 0;
  for (std::sregex_iterator it(code.begin(), code.end(), include), end; it != end; ++it) {
    const std::string header = (*it)[1];
    EXPECT_NE(page.find("`" + header + "`"), std::string::npos) << header << " is not on the page";
    ++headers;
  }
  EXPECT_GE(headers, 5);
}

}  // namespace
}  // namespace tapml
