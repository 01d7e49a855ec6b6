// tapml fuzz: campaigns and their findings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;

TEST(Fuzz, GeneratesTheSamePrograms) {
  const ProgramResult first = run_program({"fuzz", "gen", "--seed", "7", "--count", "5"});
  EXPECT_EQ(first.exit_code, 0) << first.all();
  EXPECT_EQ(run_program({"fuzz", "gen", "--seed", "7", "--count", "5"}).out, first.out);
  EXPECT_NE(run_program({"fuzz", "gen", "--seed", "8", "--count", "5"}).out, first.out);
  EXPECT_NE(first.out.find("# ---- program 4\nmodule"), std::string::npos) << first.out;
}

TEST(Fuzz, CampaignEndsByItselfAndContinues) {
  const testing::TempFolder folder;
  const std::string corpus = folder / "corpus";
  const std::vector<std::string> command = {"fuzz",     "run",   "--seed", "5",        "--tests",
                                            "100",      "--for", "200s",   "--native", "0.02",
                                            "--corpus", corpus,  "--jobs", "2",        "--json"};
  const ProgramResult first = run_program(command);
  ASSERT_EQ(first.exit_code, 0) << first.all();
  const Json one = first.json();
  EXPECT_EQ(one.find("tests")->as_integer(), 100);
  EXPECT_EQ(one.find("valid")->as_integer(), 100) << first.all();
  EXPECT_EQ(one.find("findings")->items().size(), 0U) << first.all();
  EXPECT_GT(one.find("coverage")->as_integer(), 300);
  const ProgramResult second = run_program(command);
  ASSERT_EQ(second.exit_code, 0) << second.all();
  const Json two = second.json();
  EXPECT_EQ(two.find("tests")->as_integer(), 200);
  EXPECT_GT(two.find("coverage")->as_integer(), one.find("coverage")->as_integer());
  testing::expect_failure({"fuzz", "run", "--seed", "9", "--corpus", corpus}, 2,
                          {"another seed", "state.json", "another folder"});
  testing::expect_failure({"fuzz", "run", "--seed", "5", "--depth", "1", "--corpus", corpus}, 2,
                          {"other options"});
  std::ofstream(corpus + "/state.json") << "{";
  testing::expect_failure({"fuzz", "run", "--seed", "5", "--corpus", corpus}, 2, {"state.json"});
}

TEST(Fuzz, InterruptLeavesAState) {
  const testing::TempFolder folder;
  const std::string corpus = folder / "corpus";
  const ProgramResult result = run_program(
      {"fuzz", "run", "--seed", "3", "--for", "100s", "--native", "0", "--corpus", corpus},
      {.interrupt_when = [&] { return std::filesystem::exists(corpus + "/state.json"); }});
  EXPECT_EQ(result.exit_code, 130) << result.all();
  const ProgramResult again = run_program({"fuzz", "run", "--seed", "3", "--tests", "50",
                                           "--native", "0", "--corpus", corpus, "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_GE(again.json().find("tests")->as_integer(), 100);
}

TEST(Fuzz, RefusesWhatIsNoFinding) {
  const testing::TempFolder folder;
  for (const char* command : {"replay", "reduce", "bisect"}) {
    testing::expect_failure({"fuzz", command, folder.path()}, 2, {"finding.json"});
  }
  testing::expect_failure({"fuzz", "run", "--for", "soon"}, 2, {"--for", "90s, 10m or 6h", "soon"});
  testing::expect_failure({"fuzz", "run", "--target", "abacus"}, 2, {"abacus"});
  testing::expect_failure({"fuzz", "gen", "--coverage", folder / "none"}, 2, {"none"});
}

}  // namespace
}  // namespace tapml
