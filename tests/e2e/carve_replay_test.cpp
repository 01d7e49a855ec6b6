// `tapml carve` and `tapml replay` on the demo model.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// With a temperature, the suite contains the sampling kernels, and a fault in one is found.
TEST(CarveReplay, SamplingKernelsAreTested) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult carved =
      run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "3",
                   "--temperature", "0.9", "--top-k", "50", "--seed", "5", "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  std::string drawing;
  const Json listed = run_program({"suite", "ls", suite, "--json"}).json();
  for (const Json& row : listed.find("kernels")->items()) {
    const std::string& name = row.find("kernel")->as_string();
    if (name.starts_with("draw_token")) drawing = name;
  }
  ASSERT_FALSE(drawing.empty());
  ProgramResult right = run_program({"replay", suite, "--target", "cpu", "--kernel", drawing});
  EXPECT_EQ(right.exit_code, 0) << right.all();
  ProgramResult wrong = run_program({"replay", suite, "--target", "cpu", "--kernel", drawing,
                                     "--inject-fault", drawing + ":off-by-one"});
  EXPECT_EQ(wrong.exit_code, 1) << wrong.all();
}

TEST(CarveReplay, ChecksSamplingOptions) {
  TempFolder folder;
  for (const char* command : {"carve", "migrate", "localize"}) {
    std::vector<std::string> words = {command,         kDemoModel, "--prompt", "Emma was",
                                      "--temperature", "1",        "--top-p",  "2"};
    if (words[0] == "carve") words.insert(words.end(), {"-o", folder / "suite"});
    ProgramResult refused = run_program(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.all();
    EXPECT_NE(refused.all().find("top-p"), std::string::npos) << refused.all();
  }
}

TEST(CarveReplay, SuitePassesOnBothPlatforms) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult carved = run_program(
      {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "3", "-o", suite, "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  Json summary = carved.json();
  const int64_t kernels = summary.find("kernels")->as_integer();
  EXPECT_GT(kernels, 20);
  // Prefill and two decode steps: six layers with a dozen calls each, three times.
  EXPECT_GT(summary.find("calls")->as_integer(), 3 * 6 * 12);
  std::set<std::string> names = testing::names_under(suite);
  EXPECT_TRUE(names.contains("suite.json"));
  EXPECT_EQ(static_cast<int64_t>(names.size()), summary.find("tensors")->as_integer() + 2)
      << "suite.json, tensors/ and one file a tensor";

  std::map<std::string, int64_t> calls;
  for (const char* target : {"cpu", "opencl"}) {
    ProgramResult replayed = run_program({"replay", suite, "--target", target, "--json"});
    ASSERT_EQ(replayed.exit_code, 0) << replayed.all();
    Json json = replayed.json();
    EXPECT_TRUE(json.find("passed")->as_bool());
    EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
    const std::string all = std::to_string(kernels);
    EXPECT_EQ(ProgramResult::last_line_of(replayed.err),
              "PASS " + all + " of " + all + " kernels, " +
                  std::to_string(summary.find("calls")->as_integer()) + " calls");
    const auto& rows = json.find("kernels")->items();
    EXPECT_EQ(static_cast<int64_t>(rows.size()), kernels);
    int64_t total = 0;
    for (const Json& row : rows) {
      const std::string& name = row.find("kernel")->as_string();
      EXPECT_TRUE(row.find("passed")->as_bool()) << target << " " << name;
      EXPECT_FALSE(row.find("source_wrong")->as_bool()) << target << " " << name;
      EXPECT_LE(row.find("target")->find("error_over_bound")->as_double(), 1)
          << target << " " << name;
      EXPECT_FALSE(row.find("layers")->items().empty()) << name;
      total += row.find("calls")->as_integer();
    }
    EXPECT_EQ(total, summary.find("calls")->as_integer()) << target;
  }
}

TEST(CarveReplay, OneKernelOfASmallSuite) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult carved = run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens",
                                      "2", "--calls", "1", "-o", suite, "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  // One call of every kernel, two of the few that prefill and decode share, and as many added ones.
  const int64_t kernels = carved.json().find("kernels")->as_integer();
  EXPECT_GE(carved.json().find("calls")->as_integer(), kernels);
  EXPECT_LT(carved.json().find("calls")->as_integer(), 2 * (kernels + 6));
  ProgramResult table = run_program({"replay", suite, "--target", "cpu"});
  ASSERT_EQ(table.exit_code, 0) << table.all();
  size_t at = table.out.find("rms_norm_");
  ASSERT_NE(at, std::string::npos) << table.out;
  const std::string kernel = table.out.substr(at, table.out.find(' ', at) - at);
  ProgramResult one = run_program({"replay", suite, "--kernel", kernel, "--json"});
  ASSERT_EQ(one.exit_code, 0) << one.all();
  ASSERT_EQ(one.json().find("kernels")->items().size(), 1u);
  EXPECT_EQ(one.json().find("kernels")->items()[0].find("kernel")->as_string(), kernel);
}

TEST(CarveReplay, ManyPromptsUnderABudget) {
  TempFolder folder;
  const std::string suite = folder / "suite", prompts = folder / "prompts.txt";
  testing::write_bytes(prompts, "Emma was\r\n\nIt was the voice of the bridegroom\n");
  ProgramResult carved =
      run_program({"carve", kDemoModel, "--prompts", prompts, "--prompt", "Emma was", "--decode",
                   "1", "--weights", "reference", "--budget", "1MB", "-o", suite, "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  Json summary = carved.json();
  EXPECT_LE(summary.find("bytes")->as_integer(), int64_t{1} << 20);
  EXPECT_GT(summary.find("dropped")->as_integer(), 0);
  EXPECT_EQ(static_cast<int64_t>(testing::names_under(suite + "/tensors").size()),
            summary.find("tensors")->as_integer());
  // Every kernel is present: those of both prompt lengths and of the decode step.
  Json listed = run_program({"suite", "ls", suite, "--json"}).json();
  int64_t dropped = 0;
  bool twice = false;
  for (const Json& kernel : listed.find("kernels")->items()) {
    EXPECT_GT(kernel.find("tests")->as_integer(), 0);
    twice |= kernel.find("calls")->as_integer() > kernel.find("tests")->as_integer();
    dropped += kernel.find("dropped")->as_integer();
  }
  EXPECT_TRUE(twice) << "the first prompt runs twice";
  EXPECT_EQ(dropped, summary.find("dropped")->as_integer());
  ProgramResult replayed = run_program({"replay", suite, "--json"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
}

// Data that a run leaves in the cache's pools does not enter the next run's tests.
TEST(CarveReplay, APromptThatRunsTwiceIsTestedOnce) {
  TempFolder folder;
  int64_t tests[2] = {};
  for (int again = 0; again < 2; ++again) {
    std::vector<std::string> args = {"carve", kDemoModel, "--max-tokens",
                                     "2",     "-o",       folder / "suite" + std::to_string(again),
                                     "--json"};
    for (int i = 0; i <= again; ++i) args.insert(args.end(), {"--prompt", "Emma was"});
    ProgramResult carved = run_program(args);
    ASSERT_EQ(carved.exit_code, 0) << carved.all();
    tests[again] = carved.json().find("calls")->as_integer();
  }
  EXPECT_EQ(tests[0], tests[1]);
}

// The reference is independent of the source: the suite reports wrong outputs of the source.
TEST(CarveReplay, ReportsAnAlteredOutputOfTheSource) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult carved = run_program(
      {"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2", "-o", suite, "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  ProgramResult first = run_program({"replay", suite, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.all();
  // The first call gathers embeddings; its output is replaced by that of another call of the same
  // shape.
  Json json = *parse_json(testing::read_bytes(suite + "/suite.json"), "suite.json");
  const auto& calls = json.find("calls")->items();
  const std::string embeddings = calls[0].find("after")->items().back().as_string();
  const std::string normed = calls[1].find("after")->items().back().as_string();
  ASSERT_NE(embeddings, normed);
  testing::replace_in(suite + "/suite.json", embeddings, normed);
  ProgramResult second = run_program({"replay", suite, "--json"});
  EXPECT_EQ(second.exit_code, 0) << second.all();
  const Json row = second.json().find("kernels")->items()[0];
  EXPECT_TRUE(row.find("passed")->as_bool());
  EXPECT_TRUE(row.find("source_wrong")->as_bool());
  EXPECT_EQ(row.find("source_error")->find("call")->as_integer(), 0);
  ProgramResult told = run_program({"replay", suite, "--junit", folder / "junit.xml"});
  const std::string text = "the source is outside of its own bound: " +
                           row.find("source_error")->find("output")->as_string() +
                           " of call 0, error ";
  EXPECT_NE(told.out.find("\n  " + text), std::string::npos) << told.all();
  EXPECT_NE(testing::read_bytes(folder / "junit.xml").find("<system-out>" + text),
            std::string::npos);
}

}  // namespace
}  // namespace tapml
