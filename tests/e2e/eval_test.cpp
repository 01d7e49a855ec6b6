// `tapml eval` on the demo model: the bundled tasks, with platforms side by side.
#include <gtest/gtest.h>

#include <cmath>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const std::string kTasks = std::string(TAPML_SOURCE_DIR) + "/models/cloze.jsonl";

// Every `step`-th of the bundled tasks.
std::string some_tasks(const std::string& file, int step) {
  std::istringstream lines(testing::read_bytes(kTasks));
  std::string some, line;
  for (int i = 0; std::getline(lines, line); ++i) {
    if (i % step == 0) some += line + "\n";
  }
  testing::write_bytes(file, some);
  return file;
}

TEST(Eval, TheDemoModelOnItsTasks) {
  const ProgramResult result =
      run_program({"eval", testing::kDemoModel, "--tasks", kTasks, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  ASSERT_EQ(json.find("targets")->items().size(), 1u);
  // Nothing is validated.
  EXPECT_TRUE(json.find("passed")->is_null());
  EXPECT_TRUE(json.find("verdict")->is_null());
  EXPECT_EQ(result.err.find("PASS"), std::string::npos) << result.err;
  const Json& cpu = json.find("targets")->items()[0];
  const Json* kinds = cpu.find("kinds");
  const Json *exact = kinds->find("exact_match"), *choice = kinds->find("multiple_choice");
  EXPECT_GE(exact->find("tasks")->as_integer(), 164);
  EXPECT_EQ(cpu.find("scored")->as_integer(),
            exact->find("tasks")->as_integer() + choice->find("tasks")->as_integer());
  // Chance is one in 2,048, and one in four.
  EXPECT_NEAR(static_cast<double>(exact->find("correct")->as_integer()), 24, 3);
  EXPECT_NEAR(static_cast<double>(choice->find("correct")->as_integer()), 35, 3);
  EXPECT_NEAR(cpu.find("nll")->as_double(), 3.18673, 1e-3 * 3.18673);
  const double perplexity = kinds->find("perplexity")->find("perplexity")->as_double();
  EXPECT_NEAR(std::log(perplexity), kinds->find("perplexity")->find("nll")->as_double(), 1e-9);
}

class EvalTargets : public ::testing::TestWithParam<const char*> {};

TEST_P(EvalTargets, AgreeWithTheReference) {
  TempFolder folder;
  const ProgramResult result =
      run_program({"eval", testing::kDemoModel, "--tasks", some_tasks(folder / "t.jsonl", 8),
                   "--target", GetParam(), "--reference", "cpu", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("reference")->as_string(), "cpu");
  EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
  EXPECT_TRUE(ProgramResult::last_line_of(result.err).starts_with("PASS 1 of 1 target, 29 tasks, "))
      << result.err;
  const std::vector<Json>& targets = json.find("targets")->items();
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].find("target")->as_string(), "cpu");
  EXPECT_EQ(targets[1].find("target")->as_string(), GetParam());
  EXPECT_EQ(targets[1].find("results")->items().size(), 29u);
  EXPECT_TRUE(targets[1].find("passed")->as_bool());
  EXPECT_LT(targets[1].find("nll_off")->as_double(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Platforms, EvalTargets, ::testing::Values("opencl", "wasm"));

TEST(Eval, ATargetThatComputesNothingDiffers) {
  TempFolder folder;
  const ProgramResult result =
      run_program({"eval", testing::kDemoModel, "--tasks", some_tasks(folder / "t.jsonl", 20),
                   "--target", "cpu", "--target", "null", "--reference", "cpu"});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_NE(result.out.find("null disagrees with cpu"), std::string::npos) << result.all();
  EXPECT_TRUE(result.last_line().starts_with("FAIL 0 of 1 target, ")) << result.all();
  EXPECT_EQ(result.out.find("cpu disagrees with cpu"), std::string::npos) << result.all();
}

TEST(Eval, QuantizedWeightsMakeAnotherModel) {
  TempFolder folder;
  const std::string tasks = some_tasks(folder / "t.jsonl", 40);
  auto nll = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"eval", testing::kDemoModel, "--tasks", tasks, "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json().find("targets")->items()[0].find("nll")->as_double();
  };
  const double whole = nll({}), quantized = nll({"--quantize", "q4f32"});
  EXPECT_NE(whole, quantized);
  EXPECT_NEAR(whole, quantized, 0.1 * whole);
}

// The model's text stands in a literal, so that it is a program whatever the words are.
std::string write_programs(const std::string& file) {
  testing::write_bytes(
      file,
      "{\"kind\": \"program\", \"id\": \"solved\", \"prompt\": \"text = r\\\"\\\"\\\"In the "
      "beginning\", \"test\": \"\\\"\\\"\\\"\\nassert len(text) > 20, text\"}\n"
      "{\"kind\": \"program\", \"id\": \"wrong\", \"prompt\": \"text = r\\\"\\\"\\\"And God\", "
      "\"test\": \"\\\"\\\"\\\"\\nassert len(text) < 8, 'too long'\"}\n");
  return file;
}

TEST(Eval, ProgramsAreRunAndCompared) {
  TempFolder folder;
  const std::string programs = write_programs(folder / "p.jsonl");
  ProgramResult result =
      run_program({"eval", testing::kDemoModel, "--tasks", programs, "--target", "opencl",
                   "--target", "cpu", "--reference", "cpu", "--max-tokens", "12", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  const std::vector<Json>& targets = json.find("targets")->items();
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].find("target")->as_string(), "opencl");
  for (const Json& target : targets) {
    EXPECT_EQ(target.find("kinds")->find("program")->find("correct")->as_integer(), 1);
    EXPECT_EQ(target.find("nll"), nullptr);
    const std::vector<Json>& scores = target.find("results")->items();
    const Json *solved = scores[0].find("program"), *wrong = scores[1].find("program");
    EXPECT_TRUE(scores[0].find("correct")->as_bool()) << solved->find("message")->as_string();
    EXPECT_EQ(solved->find("tokens")->items().size(), 12u);
    EXPECT_EQ(solved->find("differs_at"), nullptr);
    EXPECT_FALSE(scores[1].find("correct")->as_bool());
    EXPECT_EQ(wrong->find("message")->as_string(), "AssertionError: too long");
  }

  // A platform that computes zeros writes other tokens.
  result = run_program({"eval", testing::kDemoModel, "--tasks", programs, "--target", "null",
                        "--reference", "cpu", "--max-tokens", "4"});
  EXPECT_NE(result.out.find("cpu, wrong: not solved: AssertionError: too long"), std::string::npos)
      << result.all();
  EXPECT_NE(result.out.find("null, solved: differs from the reference at token 0 (margin 0)"),
            std::string::npos)
      << result.all();

  result = run_program(
      {"eval", testing::kDemoModel, "--tasks", programs, "--chat", "--chat-template",
       std::string(TAPML_SOURCE_DIR) + "/examples/chat/plain.jinja", "--max-tokens", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("1/2"), std::string::npos) << result.all();
}

TEST(Eval, ProgramsThatCannotRunAreRefused) {
  TempFolder folder;
  const std::string programs = write_programs(folder / "p.jsonl");
  const auto refused = [&](const std::vector<std::string>& more, int code,
                           const std::vector<std::string>& parts) {
    std::vector<std::string> command = {"eval", testing::kDemoModel, "--tasks", programs};
    command.insert(command.end(), more.begin(), more.end());
    testing::expect_failure(command, code, parts);
  };
  refused({"--python", "no-such-python"}, 4, {"no-such-python", "--python"});
  refused({"--python", "true"}, 2, {"no Python 3"});
  refused({"--max-tokens", "0"}, 2, {"--max-tokens", "1 or more"});
  refused({"--program-seconds", "0"}, 2, {"--program-seconds", "1 to 3600"});
  refused({"--unquantized", "--quantize", "q4f32"}, 2, {"--unquantized", "no scored tokens"});
  refused({"--system", "Be brief"}, 2, {"--system", "--chat only"});
  refused({"--chat"}, 2, {"no chat template", "--chat-template"});
  testing::expect_failure({"eval", testing::kDemoModel, "--tasks", kTasks, "--chat"}, 2,
                          {"no task is a program"});
  testing::write_bytes(programs, "{\"kind\": \"program\", \"test\": \"x\", \"prompt\": \"" +
                                     std::string(5000, 'a') + "\"}\n");
  refused({}, 2, {"p.jsonl:1", "no room", "511 tokens"});
}

TEST(Eval, BadInputIsRefused) {
  TempFolder folder;
  const std::string file = folder / "bad.jsonl";
  testing::write_bytes(file, "{\"kind\": \"perplexity\", \"text\": \"a b\"}\n{\"kind\": 3}\n");
  testing::expect_failure({"eval", testing::kDemoModel, "--tasks", file}, 2,
                          {"bad.jsonl:2:10", "\"kind\"", "perplexity"});
  std::string words = "{\"kind\": \"perplexity\", \"text\": \"";
  for (int i = 0; i < 600; ++i) words += "word ";
  testing::write_bytes(file, "\n" + words + "\"}\n");
  testing::expect_failure({"eval", testing::kDemoModel, "--tasks", file}, 2,
                          {"bad.jsonl:2", "512 tokens at most", "does not fit"});
  testing::expect_failure({"eval", testing::kDemoModel, "--tasks", folder / "none.jsonl"}, 2,
                          {"none.jsonl"});
  testing::expect_failure({"eval", testing::kDemoModel, "--tasks", kTasks, "--target", "nope"}, 2,
                          {"nope"});
}

}  // namespace
}  // namespace tapml
