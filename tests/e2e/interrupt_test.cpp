// Ctrl-C in every long command: it ends soon, says so, and leaves nothing half-written.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

ProgramOptions after(const std::string& text, bool on_out = false) {
  ProgramOptions options;
  options.interrupt_after = text;
  options.interrupt_on_out = on_out;
  return options;
}

void expect_interrupted(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 130) << result.all();
  EXPECT_EQ(result.err.find("error"), std::string::npos) << result.err;
}

TEST(Interrupt, Run) {
  ProgramResult result = run_program(
      {"run", kDemoModel, "--prompt", "In the beginning", "--max-tokens", "200"}, after(" ", true));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("tokens/s"), std::string::npos) << result.err;
}

TEST(Interrupt, CompileWritesNoFile) {
  TempFolder folder;
  ProgramResult result = run_program(
      {"compile", kDemoModel, "--no-cache", "-o", folder / "model.tapml"}, after("read: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(testing::names_under(folder / ""), std::set<std::string>{});
}

TEST(Interrupt, CarveKeepsWhatItHas) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult result = run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens",
                                      "200", "--calls", "1", "-o", suite},
                                     after("compile: done"));
  expect_interrupted(result);
  // A suite, and a whole one.
  ProgramResult verified = run_program({"suite", "verify", suite});
  EXPECT_EQ(verified.exit_code, 0) << verified.all();
  // Replay reads it, and is interrupted in turn.
  ProgramResult replay =
      run_program({"replay", suite, "--target", "cpu"}, after("compile for cpu: done"));
  expect_interrupted(replay);
  EXPECT_NE(replay.err.find("interrupted"), std::string::npos) << replay.err;
}

TEST(Interrupt, MigrateWhileItGenerates) {
  ProgramResult result = run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "opencl",
                                      "--prompt", "Emma was", "--max-tokens", "200"},
                                     after("compile for cpu: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("judge the whole model"), std::string::npos) << result.err;
}

TEST(Interrupt, MigrateWhileAKernelHangs) {
  ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "1", "--plant", "rms_norm_485247dc:endless-loop",
                   "--kernel-timeout", "100000"},
                  after("compile for cpu:threads=1: done"));
  expect_interrupted(result);
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
}

TEST(Interrupt, LocalizeLeavesNoReport) {
  TempFolder folder;
  ProgramResult result =
      run_program({"localize", kDemoModel, "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   "Emma was", "--max-tokens", "1", "--report", folder / "report"},
                  after("compile for cpu:threads=1: done"));
  expect_interrupted(result);
  EXPECT_EQ(testing::names_under(folder / "report"), std::set<std::string>{});
}

}  // namespace
}  // namespace tapml
