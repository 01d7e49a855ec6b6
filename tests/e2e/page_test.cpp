// A model in a page of a browser, with no program of this computer behind it: the scripts of
// tests/web, which load packages over HTTP.
#include <gtest/gtest.h>

#include "demo_run.h"
#include "io/host/command.h"

namespace tapml {
namespace {

using testing::integers;
using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;

constexpr const char* kTokens = "64";

// Packages of the demo model, by the name under which a page finds them.
class Page : public ::testing::Test {
 protected:
  void compile(const std::string& name, const std::string& model, const std::string& target) {
    ProgramResult compiled =
        run_program({"compile", model, "--target", target, "--package", packages_ / name});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  }

  void SetUp() override {
    // The browser computes on this processor (docs/web.md).
    ASSERT_NO_FATAL_FAILURE(compile("webgpu", kDemoModel, "webgpu:schedule=fallback"));
    ASSERT_NO_FATAL_FAILURE(compile("wasm", kDemoModel, "wasm"));
  }

  // The JSON that a script of tests/web prints; the first arguments are the script and the folder
  // with tapml.mjs.
  Json run(const std::string& script, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {"node", TAPML_SOURCE_DIR "/tests/web/" + script,
                                        TAPML_WASM_FOLDER};
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto ran = run_command(command, std::chrono::minutes(4));
    if (!ran) {
      ADD_FAILURE() << ran.error().to_string();
      return {};
    }
    absent_ = ran->exit_code == 4 && ran->output.find("install") != std::string::npos;
    auto json = parse_json(ran->output, script);
    if (!json && !absent_) ADD_FAILURE() << json.error().to_string() << "\n" << ran->output;
    return json ? *json : Json();
  }

  std::string at(const std::string& name) const { return packages_ / name; }

  testing::TempFolder packages_;
  bool absent_ = false;  // the browser
};

std::vector<int32_t> tokens_of(const Json& result, const char* device) {
  const Json* tokens = result.find("tokens");
  return tokens ? integers(tokens->find(device)) : std::vector<int32_t>{};
}

std::vector<int32_t> cpu_tokens() {
  ProgramResult cpu = run_program({"run", kDemoModel, "--target", "cpu", "--prompt",
                                   "In the beginning", "--max-tokens", kTokens, "--json"});
  EXPECT_EQ(cpu.exit_code, 0) << cpu.all();
  return integers(cpu.json().find("tokens"));
}

void expect_no_failures(const Json& result) {
  const Json* failures = result.find("failures");
  ASSERT_NE(failures, nullptr) << result.dump();
  for (const Json& failure : failures->items()) ADD_FAILURE() << failure.as_string();
}

TEST_F(Page, AnswersOnBothDevicesAndRefusesWhatItCannotRun) {
  testing::TempFolder models;
  testing::copy_demo_model(models / "chat");
  testing::write_bytes(
      models / "chat/chat_template.jinja",
      "{% if tools %}{% for tool in tools %}{{ tool.function.name }} {% endfor %}<tool_call>{% "
      "endif "
      "%}{% for message in messages %}{{ message.content }}{% if message.tool_calls %}{{ "
      "message.tool_calls[0].function.arguments.a }}{% endif %}{% endfor %}");
  ASSERT_NO_FATAL_FAILURE(compile("chat", models / "chat", "wasm"));
  std::vector<std::string> folders = {"model", "webgpu=" + at("webgpu"), "wasm=" + at("wasm"),
                                      "chat=" + at("chat")};
  for (const char* name : {"altered", "corrupted", "truncated", "large", "cut"}) {
    folders.push_back(name + ("=" + at("wasm")));
  }
  for (const char* name : {"withoutgpu", "withoutjspi", "lostgpu"}) {
    folders.push_back(std::string(name) + "=" + TAPML_WASM_FOLDER);
  }
  const Json result = run("in_browser.mjs", folders);
  if (absent_) GTEST_SKIP() << "no browser";
  expect_no_failures(result);
  const std::vector<int32_t> expected = cpu_tokens();
  EXPECT_EQ(expected.size(), 64U);
  EXPECT_EQ(tokens_of(result, "webgpu"), expected);
  EXPECT_EQ(tokens_of(result, "wasm"), expected);
}

TEST_F(Page, CallsFunctionsAndKernelsOfExecutables) {
  testing::TempFolder programs;
  const std::string module = TAPML_SOURCE_DIR "/tests/web/program.txt";
  testing::write_bytes(programs / "program.txt", testing::read_bytes(module));
  for (const char* target : {"webgpu:schedule=fallback", "wasm", "cpu"}) {
    const std::string text = target, platform = text.substr(0, text.find(':'));
    const ProgramResult compiled = run_program(
        {"compile", module, "--target", target, "-o", programs / (platform + ".tapml")});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  }
  const Json result =
      run("in_browser.mjs", {"executable", "programs=" + programs.path(), "wasm=" + at("wasm"),
                             std::string("lostgpu=") + TAPML_WASM_FOLDER});
  if (absent_) GTEST_SKIP() << "no browser";
  expect_no_failures(result);
}

TEST_F(Page, TheDevicePageChecksTheGpuByKeyboard) {
  const Json result = run("device_page.mjs", {});
  if (absent_) GTEST_SKIP() << "no browser";
  expect_no_failures(result);
}

TEST_F(Page, TheChatPageAnswersByKeyboard) {
  const Json result = run("chat_page.mjs", {packages_.path()});
  if (absent_) GTEST_SKIP() << "no browser";
  expect_no_failures(result);
}

}  // namespace
}  // namespace tapml
