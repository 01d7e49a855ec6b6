// `tapml chat`, and the options of `tapml run` for prompts and chats.
#include <gtest/gtest.h>

#include <sstream>

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

const std::string kTemplate = std::string(TAPML_SOURCE_DIR) + "/examples/chat/plain.jinja";

ProgramOptions with_input(const std::string& text) {
  ProgramOptions options;
  options.input = text;
  return options;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

ProgramResult run_demo(std::vector<std::string> args, const ProgramOptions& options = {}) {
  args.insert(args.begin(), {"run", kDemoModel, "--max-tokens", "12"});
  ProgramResult result = run_program(args, options);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  return result;
}

ProgramResult chat_demo(std::vector<std::string> args, const std::string& input) {
  args.insert(args.begin(), {"chat", kDemoModel, "--chat-template", kTemplate});
  return run_program(args, with_input(input));
}

TEST(Prompt, ComesFromAFileOrTheStandardInput) {
  const std::string text = run_demo({"--prompt", "Emma was"}).out;
  TempFolder folder;
  write_bytes(folder / "prompt", "Emma was\r\n");
  EXPECT_EQ(run_demo({"--prompt-file", folder / "prompt"}).out, text);
  EXPECT_EQ(run_demo({"--prompt", "-"}, with_input("Emma was\n")).out, text);
  expect_failure({"run", kDemoModel, "--prompt", "a", "--prompt-file", folder / "prompt"}, 2,
                 {"a prompt is given twice", "--prompt-file"});
  expect_failure({"run", kDemoModel, "--prompt-file", folder / "none"}, 2, {"none"});
  expect_failure({"run", kDemoModel}, 2, {"--prompt"});
}

TEST(RunChat, ContinuesWhatTheTemplateMakes) {
  const Json chat = run_demo({"--chat", "--chat-template", kTemplate, "--system", "Of Emma.",
                              "--prompt", " Emma was ", "--json"})
                        .json();
  const Json text = run_demo({"--prompt", "Of Emma.\n\nEmma was\n\n", "--json"}).json();
  EXPECT_EQ(integers(chat.find("prompt_tokens")), integers(text.find("prompt_tokens")));
  EXPECT_EQ(integers(chat.find("tokens")), integers(text.find("tokens")));
}

TEST(RunChat, TakesTheTemplateOfTheModel) {
  TempFolder folder;
  const std::string model = folder / "model";
  testing::copy_demo_model(model);
  write_bytes(model + "/chat_template.jinja",
              "{{ bos_token }}{{ messages[0].content }}{{ ending or '!' }}");
  const auto tokens = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"run", model, "--max-tokens", "1", "--json"});
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return integers(result.json().find("prompt_tokens"));
  };
  EXPECT_EQ(tokens({"--chat", "--prompt", "Emma was"}), tokens({"--prompt", "Emma was!"}));
  EXPECT_EQ(tokens({"--chat", "--prompt", "Emma was", "--chat-variables", R"({"ending": "?"})"}),
            tokens({"--prompt", "Emma was?"}));
  // A package has a copy of it.
  const std::string package = folder / "package";
  ASSERT_EQ(run_program({"compile", model, "--target", "cpu", "--package", package}).exit_code, 0);
  ProgramResult packed = run_program(
      {"run", package, "--chat", "--prompt", "Emma was", "--max-tokens", "1", "--json"});
  EXPECT_EQ(integers(packed.json().find("prompt_tokens")), tokens({"--prompt", "Emma was!"}));
}

TEST(RunChat, NamesWhatIsWrong) {
  TempFolder folder;
  const std::string file = folder / "t.jinja";
  const std::vector<std::string> chat = {"run", kDemoModel, "--chat", "--chat-template",
                                         file,  "--prompt", "x"};
  expect_failure({"run", kDemoModel, "--chat", "--prompt", "x"}, 2,
                 {"the model has no chat template", kDemoModel, "--chat-template"});
  expect_failure({"chat", kDemoModel}, 2, {"the model has no chat template"});
  expect_failure(chat, 2, {file});
  write_bytes(file, "a\n{% if %}");
  expect_failure(chat, 2, {file + ":2:7", "an expression", "the end of the tag"});
  write_bytes(file, "{{ raise_exception('Only two turns') }}");
  expect_failure(chat, 2, {file + ":1:4", "refuses the conversation", "Only two turns"});
  write_bytes(file, "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}");
  expect_failure(chat, 2, {file, "too many steps"});
  write_bytes(file, "{# nothing #}");
  expect_failure(chat, 2, {"the prompt is empty"});
  expect_failure({"run", kDemoModel, "--system", "x", "--prompt", "x"}, 2,
                 {"--system goes with --chat only"});
  expect_failure({"run", kDemoModel, "--chat", "--chat-template", kTemplate, "--chat-variables",
                  "[]", "--prompt", "x"},
                 2, {"--chat-variables", "enable_thinking"});
}

TEST(RunStop, IsNotPrinted) {
  const Json whole = run_demo({"--prompt", "Emma was", "--json"}).json();
  const std::string text = whole.find("text")->as_string();
  // A part that begins and ends inside of words, and so crosses the borders of tokens.
  ASSERT_GT(text.size(), 20u);
  const std::string stop = text.substr(9, 8);
  const ProgramResult plain = run_demo({"--prompt", "Emma was", "--stop", stop, "--stop", "zzz"});
  EXPECT_EQ(plain.out, text.substr(0, text.find(stop)) + "\n");
  const Json json = run_demo({"--prompt", "Emma was", "--stop", stop, "--json"}).json();
  EXPECT_EQ(json.find("text")->as_string(), text.substr(0, text.find(stop)));
  EXPECT_EQ(json.find("stop_reason")->as_string(), "stop");
  EXPECT_LT(integers(json.find("tokens")).size(), integers(whole.find("tokens")).size());
}

TEST(RunGrammar, TheAnswerIsOneOfItsTexts) {
  TempFolder folder;
  write_bytes(folder / "grammar", "root ::= (\"yes\" | \"no\") \"!\"\n");
  for (const char* seed : {"1", "2", "3"}) {
    const Json answer = run_demo({"--prompt", "Emma was", "--grammar", folder / "grammar", "--seed",
                                  seed, "--temperature", "1", "--json"})
                            .json();
    const std::string text = answer.find("text")->as_string();
    EXPECT_TRUE(text == "yes!" || text == "no!") << text;
    EXPECT_EQ(answer.find("stop_reason")->as_string(), "stop");
  }
  write_bytes(folder / "schema", R"({"type": "object", "required": ["age"],
      "properties": {"age": {"enum": [7, 8]}}, "additionalProperties": false})");
  const ProgramResult json =
      run_program({"run", kDemoModel, "--prompt", "Emma", "--json-schema", folder / "schema"});
  const auto document = parse_json(json.out, "answer");
  ASSERT_TRUE(document) << json.out;
  EXPECT_GE(document->find("age")->as_integer(), 7);
  // Each answer of a chat has it from its beginning.
  const ProgramResult chat = chat_demo({"--grammar", folder / "grammar"}, "Emma\nHarriet\n");
  for (const std::string& line : lines_of(chat.out)) {
    EXPECT_TRUE(line == "yes!" || line == "no!") << chat.out;
  }
  EXPECT_EQ(lines_of(chat.out).size(), 2u);
}

TEST(RunGrammar, IsRefusedWithItsPlace) {
  TempFolder folder;
  const std::string file = folder / "grammar";
  const auto refused = [&](std::vector<std::string> args, const std::vector<std::string>& says) {
    args.insert(args.begin(), {"run", kDemoModel, "--prompt", "a"});
    expect_failure(args, 2, says);
  };
  write_bytes(file, "root = \"a\"\n");
  refused({"--grammar", file}, {file + ":1:6", "::="});
  refused({"--json-schema", file}, {file + ":1:1"});
  refused({"--grammar", folder / "none"}, {"none"});
  write_bytes(folder / "schema", R"({"type": "text"})");
  refused({"--json-schema", folder / "schema"}, {"schema:1:", "the type is not known"});
  refused({"--grammar", file, "--json-schema", file}, {"one of --grammar and --json-schema"});
}

// In one file, as a terminal shows them.
TEST(Run, StatisticsHaveALineOfTheirOwn) {
  TempFolder folder;
  const std::string out = folder / "out";
  const std::string line = "'" + std::string(TAPML_PROGRAM) + "' run '" + kDemoModel +
                           "' --prompt 'Emma was' --max-tokens 12 >'" + out + "' 2>&1 </dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  const std::string text = run_demo({"--prompt", "Emma was"}).out;
  EXPECT_NE(read_bytes(out).find(text + "["), std::string::npos) << read_bytes(out);
}

TEST(Chat, KeepsTheConversation) {
  TempFolder folder;
  const std::string file = folder / "chat.json";
  ProgramResult result = chat_demo({"--max-tokens", "12", "--system", "Of God"},
                                   "In the beginning\nAnd then\n/save " + file + "\n");
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json saved = *parse_json(read_bytes(file), file);
  const auto& messages = saved.find("messages")->items();
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].find("role")->as_string(), "system");
  EXPECT_EQ(messages[1].find("content")->as_string(), "In the beginning");
  // The answers alone are on standard output.
  const std::string first = messages[2].find("content")->as_string();
  const std::string second = messages[4].find("content")->as_string();
  EXPECT_EQ(result.out, first + "\n" + second + "\n");
  EXPECT_NE(result.err.find("tokens/s"), std::string::npos) << result.err;
  // The cache that is kept gives the answer that a new one gives.
  ProgramResult again =
      chat_demo({"--max-tokens", "12", "--json"}, "/load " + file + "\n/regen\n/undo\nAnd then\n");
  ASSERT_EQ(again.exit_code, 0) << again.all();
  const Json document = again.json();
  const auto& answers = document.find("answers")->items();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].find("text")->as_string(), second);
  EXPECT_EQ(answers[0].find("kept_tokens")->as_integer(), 0);
  EXPECT_EQ(answers[1].find("text")->as_string(), second);
  // All but the last token of the prompt.
  EXPECT_EQ(answers[1].find("kept_tokens")->as_integer(),
            answers[1].find("prompt_tokens")->as_integer() - 1);
  EXPECT_EQ(document.find("messages")->dump(), saved.find("messages")->dump());
}

TEST(Chat, GoesOnAfterErrors) {
  ProgramResult result = chat_demo(
      {"--max-tokens", "4"},
      "/sytem\n/load\n/load /no/file\n/regen\nbad \xFF\n/system Of Emma\n/history\n/help\n"
      "a line \\\nand another\n/history\n/quit\nnot read\n");
  EXPECT_EQ(result.exit_code, 0) << result.all();
  for (const char* part :
       {"did you mean '/system'?", "the name of a file is missing", "/no/file",
        "there is no answer yet", "UTF-8", "system: Of Emma", "/quit            end the program",
        "user: a line \nand another\nassistant: "}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.all();
  }
  EXPECT_EQ(result.err.find("not read"), std::string::npos) << result.all();
}

TEST(Chat, AnEmptyInputEndsIt) {
  ProgramResult result = chat_demo({}, "");
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(result.out, "");
}

TEST(Chat, AnInterruptEndsTheAnswerAndNotTheProgram) {
  ProgramOptions options = with_input("Emma was\n/history\n");
  options.interrupt_after = " ";
  options.interrupt_on_out = true;
  ProgramResult result = run_program({"chat", kDemoModel, "--chat-template", kTemplate,
                                      "--max-tokens", "450", "--temperature", "1"},
                                     options);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("; stopped]"), std::string::npos) << result.all();
  EXPECT_NE(result.err.find("user: Emma was\nassistant: "), std::string::npos) << result.all();
}

TEST(Chat, RefusesAConversationThatIsTooLong) {
  std::string words;
  for (int i = 0; i < 600; ++i) words += " word";
  ProgramResult result = chat_demo({"--max-tokens", "4"}, words + "\nEmma was\n/history\n");
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("the conversation is too long for the model"), std::string::npos);
  EXPECT_NE(result.err.find("\nuser: Emma was\n"), std::string::npos) << result.all();
}

}  // namespace
}  // namespace tapml
