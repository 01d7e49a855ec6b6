// The program with libraries: --library, --patterns, and the target option libs.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::kDemoModel;
using testing::run_program;
using testing::TempFolder;

const std::string kPatterns = TAPML_SOURCE_DIR "/examples/library/swiglu.txt";

std::string file(const std::string& name) {
  return std::string(TAPML_LIBRARY_FOLDER) + "/" + name + ".so";
}

// A fault of a library is found like a fault of a schedule.
TEST(Library, MigrationNamesAFaultyRoutine) {
  for (bool wrong : {false, true}) {
    auto result =
        run_program({"migrate", kDemoModel, "--from", "cpu:libs=off", "--to", "cpu", "--prompt",
                     "Emma was", "--max-tokens", "4", "--library",
                     file(wrong ? "example_wrong" : "example"), "--patterns", kPatterns, "--json"});
    EXPECT_EQ(result.exit_code, wrong ? 1 : 0) << result.all();
    Json json = result.json();
    auto culprits = testing::strings(json.find("culprits"));
    // Of prefill and of decode.
    ASSERT_EQ(culprits.size(), wrong ? 2u : 0u) << result.all();
    for (const std::string& culprit : culprits) {
      EXPECT_TRUE(culprit.starts_with("silu_multiply_")) << culprit;
    }
    bool used = false;
    for (const Json& step : json.find("kernels")->items()) {
      used |= step.find("provider")->as_string() == "library:example.swiglu";
    }
    EXPECT_TRUE(used);
  }
}

TEST(Library, ExecutablesNameTheirLibrary) {
  TempFolder folder;
  const std::string out = folder / "demo.tapml";
  auto compiled = run_program(
      {"compile", kDemoModel, "--library", file("example"), "--patterns", kPatterns, "-o", out});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  EXPECT_NE(compiled.out.find("library:example.swiglu"), std::string::npos) << compiled.out;
  std::vector<std::string> run = {"run", out, "--prompt", "Emma was", "--max-tokens", "3"};
  expect_failure(run, 4, {"example", "--library"});
  run.insert(run.end(), {"--library", file("example")});
  auto result = run_program(run);
  EXPECT_EQ(result.exit_code, 0) << result.all();
}

TEST(Library, SuitesAreReplayed) {
  TempFolder folder;
  const std::string suite = folder / "suite";
  auto carved = run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2",
                             "--patterns", kPatterns, "--library", file("example"), "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  auto replayed = run_program({"replay", suite, "--target", "cpu:libs=openblas+onednn", "--json"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
  auto wrong = run_program(
      {"replay", suite, "--patterns", kPatterns, "--library", file("example_wrong"), "--json"});
  EXPECT_EQ(wrong.exit_code, 1) << wrong.all();
}

TEST(Library, OptionsAreChecked) {
  const std::vector<std::string> run = {"run",      kDemoModel,     "--prompt",
                                        "Emma was", "--max-tokens", "1"};
  auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> args = run;
    args.insert(args.end(), more);
    return args;
  };
  expect_failure(with({"--library", "nothing.so"}), 2, {"nothing.so"});
  expect_failure(with({"--library", file("example_version")}), 2, {"version", "999"});
  expect_failure(with({"--library", file("example"), "--library", file("example")}), 2,
                 {"two libraries", "example"});
  expect_failure(with({"--patterns", kPatterns}), 2, {"example.swiglu", "--library"});
  expect_failure(with({"--target", "cpu:libs=blas"}), 2, {"libs", "openblas"});
  expect_failure(with({"--library", file("example_fails"), "--patterns", kPatterns}), 2,
                 {"swiglu", "out of patience"});
}

}  // namespace
}  // namespace tapml
