// tapml fuzz: campaigns and their findings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/host/files.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;

void write_files(const std::string& folder, const std::string& program, const std::string& inputs,
                 const std::string& finding) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/program.txt") << program;
  std::ofstream(folder + "/inputs.txt") << inputs;
  std::ofstream(folder + "/finding.json") << finding;
}

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
                                            "50",       "--for", "200s",   "--native", "0",
                                            "--corpus", corpus,  "--jobs", "2",        "--json"};
  const ProgramResult first = run_program(command);
  ASSERT_EQ(first.exit_code, 0) << first.all();
  const Json one = first.json();
  EXPECT_EQ(one.find("tests")->as_integer(), 50);
  EXPECT_EQ(one.find("valid")->as_integer(), 50) << first.all();
  EXPECT_EQ(one.find("findings")->items().size(), 0U) << first.all();
  EXPECT_GT(one.find("coverage")->as_integer(), 300);
  const ProgramResult second = run_program(command);
  ASSERT_EQ(second.exit_code, 0) << second.all();
  const Json two = second.json();
  EXPECT_EQ(two.find("tests")->as_integer(), 100);
  EXPECT_GT(two.find("coverage")->as_integer(), one.find("coverage")->as_integer());
  EXPECT_EQ(run_program({"fuzz", "report", corpus}).exit_code, 0);
  const std::string page = read_text_file(corpus + "/report.html").value_or("");
  for (const char* part : {"Campaign 5", "No program was compiled wrongly", "Coverage over tests",
                           ">100 tests<", "match_cast", "tapml fuzz run --seed 5 --corpus"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
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
  EXPECT_GE(again.json().find("tests")->as_integer(), 60);
}

// A finding of a program that is right: as after a fault is fixed.
void write_fixed_finding(const std::string& folder) {
  write_files(folder,
              "module\ndef main(x: Tensor((3,), f32)) -> Tensor((3,), f32) {\n"
              "  y: Tensor((3,), f32) = exp(x)\n  return y\n}\n",
              "module\ndef inputs() -> Tuple(Tensor((3,), f32)) {\n"
              "  return (const(f32, (3,), [0.0, 1.0, 2.0]),)\n}\n",
              R"({"problem": {"kind": "values", "stage": "loops", "message": "element 0 is 3, )"
              R"(expected 2 within 0"}})");
}

// A finding that repeats: a program that breaks a rule, and a diagnostic that no error has.
void write_open_finding(const std::string& folder, const Json& problem) {
  Json finding = Json::object({{"problem", problem}});
  finding.set("expected", Json::array({Json::string("gremlin")}));
  write_files(folder,
              "module\ndef main(x: Tensor((3,), f32), y: Tensor((4,), f32)) -> "
              "Tensor((3,), f32) {\n  z: Tensor((3,), f32) = add(x, y)\n"
              "  return z\n}\n",
              "module\ndef inputs() -> Tuple() {\n  return ()\n}\n", finding.dump());
}

TEST(Fuzz, TriageTellsWhatIsLeft) {
  const testing::TempFolder folder;
  write_fixed_finding(folder / "findings/1-values");
  write_open_finding(folder / "findings/2-diagnostic",
                     Json::object({{"kind", Json::string("diagnostic")},
                                   {"stage", Json::string("shapes of operands")}}));
  const ProgramResult replayed =
      run_program({"fuzz", "replay", folder / "findings/2-diagnostic", "--json"});
  ASSERT_EQ(replayed.exit_code, 1) << replayed.all();
  const Json problem = *replayed.json().find("found");
  write_open_finding(folder / "findings/2-diagnostic", problem);
  write_open_finding(folder / "findings/3-diagnostic", problem);
  write_files(folder / "findings/4-values", "module\n", "module\n", "{");
  const ProgramResult triaged = run_program({"fuzz", "triage", folder.path(), "--json"});
  ASSERT_EQ(triaged.exit_code, 1) << triaged.all();
  const Json document = triaged.json();
  const std::vector<Json>& findings = document.find("findings")->items();
  ASSERT_EQ(findings.size(), 3U) << triaged.out;
  EXPECT_EQ(findings[0].find("standing")->as_string(), "repeats");
  EXPECT_EQ(findings[0].find("count")->as_integer(), 2);
  EXPECT_EQ(findings[0].find("duplicates")->items().size(), 1U);
  EXPECT_EQ(findings[1].find("standing")->as_string(), "unreadable");
  EXPECT_NE(findings[1].find("message")->as_string().find("finding.json"), std::string::npos);
  EXPECT_EQ(findings[2].find("standing")->as_string(), "fixed");
  EXPECT_NE(triaged.err.find("FAIL: 2 findings of 2 causes, 1 fixed, 1 duplicate"),
            std::string::npos)
      << triaged.err;
  EXPECT_EQ(*read_text_file(folder / "triage.json"), document.dump(2) + "\n");
  const testing::TempFolder none;
  testing::expect_failure({"fuzz", "triage", none.path()}, 2, {"no finding", "finding.json"});
  testing::expect_failure({"fuzz", "triage", none / "none"}, 2, {"none"});
  testing::expect_failure({"fuzz", "report", none.path()}, 2, {"state.json"});
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
