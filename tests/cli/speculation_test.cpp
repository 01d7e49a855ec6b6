// Speculative decoding of `tapml run` and `tapml chat`.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::read_bytes;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

Json run_with(const std::string& tokens, const std::vector<std::string>& more,
              const std::string& prompt = "Emma was") {
  std::vector<std::string> args = {"run",    kDemoModel,     "--prompt", prompt,
                                   "--json", "--max-tokens", tokens};
  args.insert(args.end(), more.begin(), more.end());
  const ProgramResult result = run_program(args);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  return result.json();
}

int64_t count_of(const Json& document, std::string_view name) {
  const Json* counts = document.find("speculation");
  EXPECT_NE(counts, nullptr);
  return counts ? counts->find(name)->as_integer() : -1;
}

TEST(RunSpeculation, TheModelAsItsOwnDraftIsAcceptedAlways) {
  const Json plain = run_with("21", {});
  EXPECT_EQ(plain.find("speculation"), nullptr);
  const Json drafted = run_with("21", {"--draft", kDemoModel, "--keep-draft"});
  EXPECT_EQ(integers(drafted.find("tokens")), integers(plain.find("tokens")));
  EXPECT_EQ(count_of(drafted, "proposed"), 16);
  EXPECT_EQ(count_of(drafted, "accepted"), 16);
  EXPECT_EQ(count_of(drafted, "verify_steps"), 4);
  EXPECT_EQ(count_of(drafted, "plain_steps"), 0);
  EXPECT_EQ(drafted.find("speculation")->find("tokens_per_verify")->as_double(), 5);
  // It measures plain steps first.
  const Json measured = run_with("21", {"--draft", kDemoModel, "--draft-tokens", "2"});
  EXPECT_EQ(integers(measured.find("tokens")), integers(plain.find("tokens")));
  EXPECT_EQ(count_of(measured, "plain_steps"), 5);
  EXPECT_EQ(count_of(measured, "verify_steps"), 5);
}

TEST(RunSpeculation, LookupFindsWhatRepeats) {
  const std::string prompt = "to be or not to be or not to be or not to be or";
  const Json plain = run_with("16", {}, prompt);
  const Json looked_up = run_with("16", {"--lookup", "2", "--keep-draft"}, prompt);
  EXPECT_EQ(integers(looked_up.find("tokens")), integers(plain.find("tokens")));
  EXPECT_GT(count_of(looked_up, "proposed"), 0);
}

TEST(RunSpeculation, StatisticsAreOnStandardError) {
  const ProgramResult result =
      run_program({"run", kDemoModel, "--prompt", "Emma was", "--max-tokens", "21", "--draft",
                   kDemoModel, "--keep-draft"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("[16 of 16 proposed tokens accepted (100%), 5.00 tokens a verify step"),
            std::string::npos)
      << result.err;
}

TEST(RunSpeculation, RefusesWhatDoesNotFit) {
  const std::vector<std::string> run = {"run", kDemoModel, "--prompt", "x"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return more;
  };
  expect_failure(with({"--draft", kDemoModel, "--lookup", "3"}), 2, {"--lookup", "--draft"});
  expect_failure(with({"--lookup", "0"}), 2, {"--lookup"});
  expect_failure(with({"--draft", kDemoModel, "--draft-tokens", "65"}), 2, {"--draft-tokens"});
  expect_failure(with({"--draft", "/nowhere"}), 2, {"/nowhere"});
  TempFolder folder;
  const std::string draft = folder / "draft";
  testing::copy_demo_model(draft);
  for (const char* file : {"/tokenizer.json", "/tokenizer_config.json"}) {
    std::string text = read_bytes(draft + file);
    const std::string token = "<|end_of_text|>";
    for (size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += token.size()) {
      text.replace(at, token.size(), "<|another_end|>");
    }
    write_bytes(draft + file, text);
  }
  expect_failure(
      with({"--draft", draft}), 2,
      {"another vocabulary", "token 2047 \"<|end_of_text|>\"", "<|another_end|>", "--lookup"});
}

TEST(ChatSpeculation, AnswersAreTheSame) {
  const std::string chat_template = std::string(TAPML_SOURCE_DIR) + "/examples/chat/plain.jinja";
  const auto chat = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {
        "chat", kDemoModel, "--chat-template", chat_template, "--json", "--max-tokens", "20"};
    args.insert(args.end(), more.begin(), more.end());
    ProgramOptions options;
    options.input = "Emma was\nShe had\n/regen\n";
    const ProgramResult result = run_program(args, options);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json();
  };
  const Json plain = chat({});
  const Json drafted = chat({"--draft", kDemoModel, "--keep-draft"});
  EXPECT_EQ(drafted.find("messages")->dump(), plain.find("messages")->dump());
  for (const Json& answer : drafted.find("answers")->items()) {
    EXPECT_EQ(count_of(answer, "accepted"), count_of(answer, "proposed"));
    EXPECT_GT(count_of(answer, "accepted"), 0);
  }
  const Json looked_up = chat({"--lookup", "1", "--keep-draft"});
  EXPECT_EQ(looked_up.find("messages")->dump(), plain.find("messages")->dump());
}

}  // namespace
}  // namespace tapml
