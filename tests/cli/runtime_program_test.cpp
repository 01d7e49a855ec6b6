// The runtime program, without the compiler: what it serves, what it rejects, and that it needs no
// LLVM.
#include <gtest/gtest.h>

#include "support/program.h"
#include "target/processor.h"

namespace tapml::testing {
namespace {

// Output and exit code of the runtime program.
std::pair<std::string, int> run_runtime(const std::string& arguments) {
  const std::string command = std::string(TAPML_RUNTIME_PROGRAM) + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = ::pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST(RuntimeProgram, NeedsNoCompiler) {
  const std::string program = read_bytes(TAPML_RUNTIME_PROGRAM);
  EXPECT_GT(program.size(), 100'000u);
  EXPECT_EQ(program.find("libLLVM"), std::string::npos);
  EXPECT_NE(read_bytes(TAPML_PROGRAM).find("libLLVM"), std::string::npos);
}

TEST(RuntimeProgram, NamesMissingFeatures) {
  auto [text, code] = run_runtime("compile model.tapml -o file");
  EXPECT_EQ(code, 2) << text;
  EXPECT_NE(text.find("built without the compiler"), std::string::npos) << text;
  EXPECT_NE(text.find("cpu@ENDPOINT"), std::string::npos) << text;
  std::tie(text, code) = run_runtime("devices");
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("cpu: available"), std::string::npos) << text;
}

// Kernels arrive as shared objects: the runtime program does not link archives.
TEST(RuntimeProgram, ServesItsProcessor) {
  const std::string endpoint = std::string("pipe:") + TAPML_RUNTIME_PROGRAM + " rpc serve --stdio";
  const std::vector<std::string> run = {"run",          kDemoModel, "--prompt", "In the beginning",
                                        "--max-tokens", "6",        "--json",   "--target"};
  std::vector<std::string> here = run, there = run;
  here.push_back("cpu");
  there.push_back("cpu@" + endpoint);
  const ProgramResult expected = run_program(here), result = run_program(there);
  ASSERT_EQ(expected.exit_code, 0) << expected.all();
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const std::vector<int32_t> tokens = integers(expected.json().find("tokens"));
  EXPECT_EQ(tokens.size(), 6u);
  EXPECT_EQ(integers(result.json().find("tokens")), tokens);
}

TEST(RuntimeProgram, TargetsMustFitItsProcessor) {
  const std::string endpoint = std::string("@pipe:") + TAPML_RUNTIME_PROGRAM + " rpc serve --stdio";
  const std::string other =
      std::string(target::host_processor().architecture) == "aarch64" ? "x86-64" : "aarch64";
  expect_failure({"run", kDemoModel, "--prompt", "x", "--target", "cpu:arch=" + other + endpoint},
                 4, {"code for " + other + " was requested"});
  expect_failure({"run", kDemoModel, "--prompt", "x", "--target", "cpu:arch=" + other}, 4,
                 {"code for " + other + " was requested", "cpu@ENDPOINT"});
}

TEST(RuntimeProgram, StartFailuresHaveAHint) {
  expect_failure({"rpc", "status", "pipe:/nowhere/qemu-aarch64-static tapml rpc serve"}, 4,
                 {"cannot start", "qemu-user-static"});
  TempFolder folder;
  const std::string program = folder / "program";
  write_bytes(program,
              "\x7f"
              "ELF of another machine");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  expect_failure({"rpc", "status", "pipe:" + program}, 4,
                 {"cannot start", "another processor", "qemu-user-static"});
}

}  // namespace
}  // namespace tapml::testing
