// Features of every subcommand: help with an example, --json, exit codes.
#include <gtest/gtest.h>

#include <sstream>

#include "support/background_server.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;

TEST(Commands, HelpOfEachEndsInAnExample) {
  for (const char* command : {"run", "compile", "opt", "check-import", "carve", "replay", "migrate",
                              "models", "devices"}) {
    ProgramResult result = run_program({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_NE(result.out.find("Example: tapml " + std::string(command)), std::string::npos)
        << result.out;
    EXPECT_NE(result.out.find("--json"), std::string::npos) << command;
    EXPECT_EQ(result.err, "") << command;
  }
  ProgramResult all = run_program({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_NE(all.out.find("migrate"), std::string::npos) << all.out;
  ProgramResult version = run_program({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("tapml ")) << version.out;
}

TEST(Commands, DocumentationNamesEveryOptionAndCommand) {
  const std::string page = testing::read_bytes(std::string(TAPML_SOURCE_DIR) + "/docs/cli.md");
  for (const char* command : {"run", "compile", "opt", "check-import", "carve", "replay", "migrate",
                              "models", "devices"}) {
    EXPECT_NE(page.find("\n## " + std::string(command) + "\n"), std::string::npos) << command;
    const std::string help = run_program({command, "--help"}).out;
    for (size_t at = 0; (at = help.find("--", at)) != std::string::npos;) {
      const size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
      const std::string option = help.substr(at, end - at);
      EXPECT_NE(page.find(option), std::string::npos) << command << " " << option;
      at = end;
    }
  }
}

TEST(Commands, UnknownOptionsAndCommands) {
  testing::expect_failure({"run", testing::kDemoModel, "--prompt", "x", "--bogus"}, 2,
                          {"--bogus", "command line", "tapml run --help"});
  testing::expect_failure({"rpc", "serve", "--bogus"}, 2, {"--bogus", "tapml rpc serve --help"});
  testing::expect_failure({"frobnicate"}, 2, {"compile, ", "frobnicate", "tapml --help"});
  testing::expect_failure({"migarte"}, 2, {"migarte", "did you mean 'migrate'?"});
  testing::expect_failure({"rpc", "frobnicate"}, 2,
                          {"serve, status, tracker or tracker-status", "frobnicate"});
  testing::expect_failure({"run"}, 2, {"required"});
  testing::expect_failure({"run", testing::kDemoModel, "--prompt", "x", "--max-tokens", "many"}, 2,
                          {"--max-tokens", "many"});
  testing::expect_failure({"migrate", testing::kDemoModel, "--prompt", "x", "--max-tokens", "0"}, 2,
                          {"--max-tokens"});
  EXPECT_EQ(run_program({}).exit_code, 2);
}

// The misspelled option is reported first: a missing option is its consequence.
TEST(Commands, MisspeltOptionsAreAnsweredWithTheNearestOne) {
  testing::expect_failure({"run", testing::kDemoModel, "--promt", "x"}, 2,
                          {"no such option", "\"--promt\"", "did you mean '--prompt'?"});
  testing::expect_failure({"run", testing::kDemoModel, "--prompt", "x", "--temp", "0.5"}, 2,
                          {"\"--temp\"", "did you mean '--temperature'?"});
  testing::expect_failure({"migrate", testing::kDemoModel, "--prompt", "x", "--max-token=3"}, 2,
                          {"\"--max-token\"", "did you mean '--max-tokens'?"});
  testing::expect_failure({"suite", "verify", "x", "--modle", "y"}, 2,
                          {"tapml suite verify", "\"--modle\"", "did you mean '--model'?"});
}

TEST(Commands, SamplingOptionsWithoutEffectWarn) {
  const ProgramResult greedy = run_program(
      {"run", testing::kDemoModel, "--prompt", "x", "--max-tokens", "1", "--top-k", "3"});
  EXPECT_EQ(greedy.exit_code, 0) << greedy.all();
  EXPECT_NE(greedy.err.find("no effect without --temperature"), std::string::npos) << greedy.err;
  const ProgramResult drawn =
      run_program({"run", testing::kDemoModel, "--prompt", "x", "--max-tokens", "1", "--top-k", "3",
                   "--temperature", "0.5"});
  EXPECT_EQ(drawn.err.find("no effect"), std::string::npos) << drawn.err;
}

TEST(Commands, AModelIsNotASuite) {
  testing::expect_failure({"replay", testing::kDemoModel}, 2,
                          {"not a suite", "a model directory", "tapml carve"});
}

TEST(Commands, AnUnknownDeviceNumberListsTheValidOnes) {
  testing::expect_failure(
      {"run", testing::kDemoModel, "--prompt", "x", "--target", "opencl:device=77"}, 4,
      {"no OpenCL device 77", "device=0 to device=", "tapml devices"});
}

TEST(Devices, ListsEveryPlatform) {
  ProgramResult result = run_program({"devices", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Json json = result.json();
  std::map<std::string, bool> available;
  for (const Json& platform : json.find("platforms")->items()) {
    const std::string& name = platform.find("platform")->as_string();
    available[name] = platform.find("available")->as_bool();
    EXPECT_FALSE(platform.find("doc")->as_string().empty()) << name;
    if (!available[name]) continue;
    EXPECT_GT(platform.find("limits")->find("threads")->as_integer(), 0) << name;
  }
  EXPECT_TRUE(available.at("cpu"));
  EXPECT_TRUE(available.at("null"));
  EXPECT_TRUE(available.contains("opencl"));

  // An unavailable platform shows the reason and a remedy; it is not a failure.
  testing::TempFolder none;
  ProgramResult without =
      run_program({"devices", "--json"}, {.environment = {{"OCL_ICD_VENDORS", none.path()}}});
  ASSERT_EQ(without.exit_code, 0) << without.all();
  json = without.json();
  for (const Json& platform : json.find("platforms")->items()) {
    if (platform.find("platform")->as_string() != "opencl") continue;
    EXPECT_FALSE(platform.find("available")->as_bool());
    EXPECT_NE(platform.find("reason")->as_string().find("install"), std::string::npos)
        << platform.find("reason")->as_string();
  }
  EXPECT_NE(run_program({"devices"}).out.find("cpu: available"), std::string::npos);
}

// The first two columns of a Markdown table.
std::string first_columns(const std::string& table) {
  std::string columns;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    const size_t second = line.find('|', 1);
    columns += line.substr(0, line.find('|', second + 1)) + "\n";
  }
  return columns;
}

TEST(Devices, ChecksAvailableDevices) {
  ProgramResult result = run_program({"devices", "--check", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  int64_t checked = 0;
  const Json json = result.json();
  for (const Json& platform : json.find("platforms")->items()) {
    if (!platform.find("available")->as_bool()) continue;
    EXPECT_TRUE(platform.find("passed")->as_bool());
    EXPECT_GE(platform.find("checks")->items().size(), 12u);
    for (const Json& check : platform.find("checks")->items()) {
      EXPECT_TRUE(check.find("passed")->as_bool()) << check.find("check")->as_string();
    }
    ++checked;
  }
  EXPECT_GE(checked, 2);
  EXPECT_TRUE(ProgramResult::last_line_of(result.err).starts_with("PASS ")) << result.err;
  EXPECT_TRUE(ProgramResult::last_line_of(result.err)
                  .ends_with(" checks, " + std::to_string(checked) + " devices"))
      << result.err;
  ProgramResult table = run_program({"devices", "--markdown"});
  EXPECT_EQ(table.exit_code, 0) << table.all();
  EXPECT_TRUE(table.out.starts_with("| platform | compiles to |")) << table.out;
  EXPECT_NE(table.out.find("| cpu | machine code, by LLVM |"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("FAILED"), std::string::npos) << table.out;
  // The page lists these platforms and what they compile to.
  const std::string page =
      testing::read_bytes(std::string(TAPML_SOURCE_DIR) + "/docs/platforms.md");
  const std::string written = page.substr(page.find("| platform |"));
  EXPECT_EQ(first_columns(written.substr(0, written.find("\n\n") + 1)), first_columns(table.out));
}

TEST(Devices, AreCheckedAtAnEndpointToo) {
  testing::TempFolder folder;
  testing::BackgroundServer server({"--listen", "unix:" + folder / "server"});
  const std::string target = "cpu:threads=1@" + server.endpoint();
  ProgramResult result =
      run_program({"devices", "--target", target, "--target", "null", "--check", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  const auto& devices = json.find("platforms")->items();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].find("platform")->as_string(), target);
  EXPECT_EQ(devices[0].find("limits")->find("threads")->as_integer(), 1);
  EXPECT_TRUE(devices[0].find("passed")->as_bool());
  EXPECT_GE(devices[0].find("checks")->items().size(), 12u);
  EXPECT_EQ(devices[1].find("platform")->as_string(), "null");
  // A target given on the command line must be available.
  testing::expect_failure({"devices", "--target", "cpu@unix:" + folder / "nobody"}, 4, {"nobody"});
  testing::expect_failure({"devices", "--target", "abacus"}, 2, {"abacus", "one of"});
}

}  // namespace
}  // namespace tapml
