// --embeddings of every command that runs a model, with a package whose model takes some.
#include <gtest/gtest.h>

#include <fstream>

#include "support/program.h"
#include "support/toy_decoder.h"
#include "support/toy_package.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;
using testing::ToyDecoder;

// A byte of a prompt is a token.
const std::string kImageText = "\x03\x01\x04\x01\x05\x09";
const std::vector<int32_t> kImageTokens = {3, 1, 4, 1, 5, 9};

const ToyDecoder& decoder() {
  static const ToyDecoder model = testing::toy_decoder(31, 0, true);
  return model;
}
// Of two images, for tokens 1, 2 and 5.
const llm::PlacedEmbeddings& images() {
  static const llm::PlacedEmbeddings placed = testing::toy_embeddings(32, {1, 2, 5});
  return placed;
}

// The package, beside a file for each image.
const std::string& image_folder() {
  static const TempFolder folder;
  static const bool is_written = [] {
    testing::write_toy_package(folder.path(), decoder().module, decoder().weights);
    const auto rows = [](size_t first, int64_t count) {
      const size_t width = ToyDecoder::kHidden;
      return HostTensor::from(DType::kF32, {count, ToyDecoder::kHidden},
                              images().rows.values<float>().subspan(first * width));
    };
    testing::write_tensor(folder / "first.safetensors", "patches", rows(0, 2));
    testing::write_tensor(folder / "second.safetensors", "patches", rows(2, 1));
    return true;
  }();
  EXPECT_TRUE(is_written);
  return folder.path();
}
std::string image_package() { return image_folder() + "/package"; }
std::string first_image() { return image_folder() + "/first.safetensors@1"; }
std::string second_image() { return image_folder() + "/second.safetensors@5"; }

ProgramResult with_images(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(),
                   {"--embeddings", first_image(), "--embeddings", second_image()});
  return run_program(arguments);
}

TEST(EmbeddingOption, RunsAndCarvesAndProfiles) {
  const ProgramResult run =
      with_images({"run", image_package(), "--prompt", kImageText, "--max-tokens", "6", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.all();
  const std::vector<int32_t> expected = decoder().greedy(kImageTokens, 6, images());
  EXPECT_NE(expected, decoder().greedy(kImageTokens, 6)) << "the embeddings make no difference";
  EXPECT_EQ(testing::integers(run.json().find("tokens")), expected);
  const TempFolder out;
  const ProgramResult carved =
      with_images({"carve", image_package(), "--prompt", kImageText, "-o", out / "suite"});
  EXPECT_EQ(carved.exit_code, 0) << carved.all();
  const ProgramResult replayed = run_program({"replay", out / "suite", "--target", "cpu"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
  EXPECT_TRUE(replayed.last_line().starts_with("PASS")) << replayed.all();
  const ProgramResult profiled =
      with_images({"profile", image_package(), "--prompt", kImageText, "--max-tokens", "2"});
  EXPECT_EQ(profiled.exit_code, 0) << profiled.all();
}

TEST(EmbeddingOption, MigratesAndLocalizesAndEvaluates) {
  const ProgramResult migrated =
      with_images({"migrate", image_package(), "--from", "cpu", "--to", "cpu:threads=1", "--prompt",
                   kImageText, "--max-tokens", "4", "--json"});
  ASSERT_EQ(migrated.exit_code, 0) << migrated.all();
  const std::string command = migrated.json().find("run")->find("command")->as_string();
  EXPECT_NE(
      command.find("--embeddings '" + first_image() + "' --embeddings '" + second_image() + "'"),
      std::string::npos)
      << command;
  // The command of the report runs.
  EXPECT_EQ(testing::run_line(image_folder(), command), 0) << command;
  const ProgramResult localized =
      with_images({"localize", image_package(), "--from", "cpu", "--to", "cpu:threads=1",
                   "--prompt", kImageText, "--max-tokens", "2"});
  EXPECT_EQ(localized.exit_code, 0) << localized.all();
  std::ofstream(image_folder() + "/tasks.jsonl")
      << R"({"kind": "exact_match", "prompt": "\u0003\u0001\u0004\u0001\u0005\u0009", "answer": "\u0001"})"
      << "\n";
  const ProgramResult evaluated =
      with_images({"eval", image_package(), "--tasks", image_folder() + "/tasks.jsonl"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.all();
}

TEST(EmbeddingOption, RefusesWhatDoesNotFit) {
  expect_failure({"run", image_package(), "--prompt", "\x03\x01", "--embeddings", first_image()}, 2,
                 {"the prompt ends before an embedding's position", "--embeddings",
                  "positions from 0 to 1", "position 2", "a token for each embedding"});
  expect_failure({"run", testing::kDemoModel, "--embeddings", first_image(), "--prompt", "a"}, 2,
                 {"takes no embeddings", "leave --embeddings out"});
  expect_failure({"run", image_package(), "--prompt", kImageText, "--embeddings", first_image(),
                  "--embeddings", first_image()},
                 2, {"two embeddings have the same position", first_image(), "position 1"});
  expect_failure(
      {"run", image_package(), "--prompt", kImageText, "--embeddings", first_image() + "x"}, 2,
      {"no valid position", "FILE@POSITION"});
}

}  // namespace
}  // namespace tapml
