// What a target may do (docs/verdicts.md) in `tapml replay` and `tapml migrate`, on the demo model.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// A kernel of one product of matrices.
std::string product_of(const std::string& suite) {
  const Json listed = run_program({"suite", "ls", suite, "--json"}).json();
  for (const Json& row : listed.find("kernels")->items()) {
    const std::string& name = row.find("kernel")->as_string();
    if (name.size() == std::string("matmul_01234567").size() && name.starts_with("matmul_")) {
      return name;
    }
  }
  ADD_FAILURE() << "the suite has no kernel of one product";
  return "";
}

class AllowedPrecision : public ::testing::Test {
 protected:
  void SetUp() override {
    const ProgramResult carved = run_program(
        {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "3", "-o", suite});
    ASSERT_EQ(carved.exit_code, 0) << carved.all();
    kernel = product_of(suite);
  }

  ProgramResult replayed(const std::string& target, const std::string& kind,
                         const std::string& report) {
    return run_program({"replay", suite, "--target", target, "--kernel", kernel, "--inject-fault",
                        kernel + ":" + kind, "--report", folder / report});
  }

  TempFolder folder;
  const std::string suite = folder / "suite";
  std::string kernel;
};

TEST_F(AllowedPrecision, DecidesAReplay) {
  const ProgramResult refused = replayed("cpu", "half-input", "strict");
  EXPECT_EQ(refused.exit_code, 1) << refused.all();
  EXPECT_EQ(refused.all().find("allowed"), std::string::npos) << refused.all();

  const ProgramResult passed = replayed("cpu:precision=tf32", "half-input", "tf32");
  EXPECT_EQ(passed.exit_code, 0) << passed.all();
  for (const char* part : {"  allowed: precision=tf32\n",
                           "allowed on cpu:precision=tf32: precision=tf32 (1 kernel needs it)",
                           "1 with precision=tf32 allowed"}) {
    EXPECT_NE(passed.all().find(part), std::string::npos) << part << " in\n" << passed.all();
  }
  const Json json =
      unwrap(parse_json(testing::read_bytes(folder / "tf32/report.json"), "report.json"));
  EXPECT_EQ(json.find("allowances")->as_string(), "precision=tf32");
  EXPECT_EQ(json.find("kernels")->items()[0].find("allowances")->as_string(), "precision=tf32");
  const std::string page = testing::read_bytes(folder / "tf32/report.html");
  EXPECT_NE(page.find("allowed: precision=tf32"), std::string::npos);
  EXPECT_NE(page.find("allowed on cpu:precision=tf32: precision=tf32 (1 kernel needs it)"),
            std::string::npos);

  // bf16 is coarser than what is allowed.
  const ProgramResult coarser = replayed("cpu:precision=tf32", "truncated-input", "coarser");
  EXPECT_EQ(coarser.exit_code, 1) << coarser.all();
  EXPECT_NE(coarser.all().find("wrong even if allowed: precision=tf32"), std::string::npos)
      << coarser.all();
}

TEST_F(AllowedPrecision, DecidesAMigrationWithTheWholeModel) {
  const auto migrated = [&](const std::string& target) {
    return run_program({"migrate", kDemoModel, "--from", "cpu", "--to", target, "--prompt",
                        "Emma was", "--max-tokens", "4", "--inject-fault",
                        kernel + ":truncated-input"});
  };
  const ProgramResult refused = migrated("cpu");
  EXPECT_EQ(refused.exit_code, 1) << refused.all();
  EXPECT_NE(refused.all().find("culprit: kernel " + kernel), std::string::npos) << refused.all();

  const ProgramResult passed = migrated("cpu:precision=bf16");
  EXPECT_EQ(passed.exit_code, 0) << passed.all();
  for (const char* part : {"  allowed: precision=bf16\n",
                           "allowed on cpu:precision=bf16: precision=bf16 (1 kernel needs it)",
                           "; allowed: precision=bf16\n", "1 with precision=bf16 allowed"}) {
    EXPECT_NE(passed.all().find(part), std::string::npos) << part << " in\n" << passed.all();
  }
}

TEST(AllowedPrecisionOptions, AreCheckedBeforeAnythingRuns) {
  const ProgramResult wrong =
      run_program({"run", kDemoModel, "--prompt", "a", "--target", "cpu:precision=f8"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong.all();
  EXPECT_NE(wrong.all().find("bad value of option \"precision\""), std::string::npos)
      << wrong.all();
  const ProgramResult wide = run_program(
      {"run", kDemoModel, "--prompt", "a", "--accumulation", "f16", "--activations", "f32"});
  EXPECT_EQ(wide.exit_code, 2) << wide.all();
  EXPECT_NE(wide.all().find("a model accumulates in f16 only with activations in f16"),
            std::string::npos)
      << wide.all();
}

}  // namespace
}  // namespace tapml
