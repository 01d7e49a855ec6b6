// --features of every command that runs a model, with a package whose model has an encoder.
#include <gtest/gtest.h>

#include <fstream>

#include "support/program.h"
#include "support/toy_models.h"
#include "support/toy_package.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;
using testing::ToyModel;

const ToyModel& toy() {
  static const ToyModel model = testing::toy_encoder_decoder(5);
  return model;
}
const HostTensor& features() {
  static const HostTensor tensor = testing::toy_features(11);
  return tensor;
}
// A byte of a prompt is a token.
const std::string kSymbols = "\x03\x01\x04\x01\x05";
const std::vector<int32_t> kTokens = {3, 1, 4, 1, 5};

// The package, beside a file of features.
const std::string& folder() {
  static const TempFolder folder;
  static const bool is_written = [] {
    testing::write_toy_package(folder.path(), toy().module, toy().weights);
    testing::write_tensor(folder / "features.safetensors", "frames", features());
    return true;
  }();
  EXPECT_TRUE(is_written);
  return folder.path();
}
std::string sound_package() { return folder() + "/package"; }
std::string file() { return folder() + "/features.safetensors"; }

TEST(FeatureOption, RunsAndCarvesAndProfiles) {
  const ProgramResult run = run_program({"run", sound_package(), "--features", file(), "--prompt",
                                         kSymbols, "--max-tokens", "6", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.all();
  EXPECT_EQ(testing::integers(run.json().find("tokens")), toy().greedy(kTokens, 6, features()));
  const TempFolder out;
  const ProgramResult carved = run_program({"carve", sound_package(), "--features", file(),
                                            "--prompt", kSymbols, "-o", out / "suite", "--json"});
  EXPECT_EQ(carved.exit_code, 0) << carved.all();
  const ProgramResult replayed = run_program({"replay", out / "suite", "--target", "cpu"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
  EXPECT_TRUE(replayed.last_line().starts_with("PASS")) << replayed.all();
  const ProgramResult profiled = run_program({"profile", sound_package(), "--features", file(),
                                              "--prompt", kSymbols, "--max-tokens", "2", "--json"});
  EXPECT_EQ(profiled.exit_code, 0) << profiled.all();
}

// Recurrent and fixed state, encoded features and captures go through a process of the server.
TEST(FeatureOption, MigratesToAnotherProcess) {
  const std::string remote = std::string("cpu@pipe:") + TAPML_PROGRAM + " rpc serve --stdio";
  const ProgramResult result =
      run_program({"migrate", sound_package(), "--from", "cpu", "--to", remote, "--features",
                   file(), "--prompt", kSymbols, "--max-tokens", "4", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(testing::integers(json.find("target_tokens")), toy().greedy(kTokens, 4, features()));
  EXPECT_TRUE(json.find("untested")->items().empty());

  const ToyModel recurrent = testing::toy_recurrent_model(7);
  const TempFolder out;
  testing::write_toy_package(out.path(), recurrent.module, recurrent.weights);
  const ProgramResult other =
      run_program({"migrate", out / "package", "--from", "cpu", "--to", remote, "--prompt",
                   kSymbols, "--max-tokens", "4", "--json"});
  ASSERT_EQ(other.exit_code, 0) << other.all();
  EXPECT_EQ(testing::integers(other.json().find("target_tokens")), recurrent.greedy(kTokens, 4));
}

TEST(FeatureOption, MigratesAndLocalizesAndEvaluates) {
  const ProgramResult migrated =
      run_program({"migrate", sound_package(), "--from", "cpu", "--to", "cpu:threads=1",
                   "--features", file(), "--prompt", kSymbols, "--max-tokens", "4", "--json"});
  ASSERT_EQ(migrated.exit_code, 0) << migrated.all();
  const std::string command = migrated.json().find("run")->find("command")->as_string();
  EXPECT_NE(command.find("--features '" + file() + "'"), std::string::npos) << command;
  // The command of the report runs.
  EXPECT_EQ(testing::run_line(folder(), command), 0) << command;
  const ProgramResult localized =
      run_program({"localize", sound_package(), "--from", "cpu", "--to", "cpu:threads=1",
                   "--features", file(), "--prompt", kSymbols, "--max-tokens", "2"});
  EXPECT_EQ(localized.exit_code, 0) << localized.all();
  std::ofstream(folder() + "/tasks.jsonl") << R"({"kind": "perplexity", "text": "\u0003\u0001"})"
                                           << "\n";
  const ProgramResult evaluated = run_program({"eval", sound_package(), "--features", file(),
                                               "--tasks", folder() + "/tasks.jsonl", "--json"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.all();
}

TEST(FeatureOption, GoesWithAnEncoder) {
  expect_failure({"run", sound_package(), "--prompt", kSymbols}, 2,
                 {"needs features", "give --features FILE"});
  expect_failure({"run", testing::kDemoModel, "--features", file(), "--prompt", "a"}, 2,
                 {"reads no features", "leave --features out"});
  expect_failure(
      {"run", sound_package(), "--features", folder() + "/absent.npy", "--prompt", kSymbols}, 2,
      {"absent.npy"});
}

}  // namespace
}  // namespace tapml
