// --audio: sound files for models with an encoder, against transformers, and what is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::golden_path;
using testing::GoldenModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

const std::string kPrompt = "He,said:";

std::string sound(const std::string& name) { return golden_path("sounds/" + name); }

const GoldenModel& golden() {
  static const GoldenModel model = testing::golden_model("whisper", "speech");
  return model;
}

// The golden model "whisper" as a model folder.
const std::string& whisper() {
  static const TempFolder folder;
  static const bool is_written = [] {
    for (const char* file :
         {"config.json", "preprocessor_config.json", "generation_config.json", "tokenizer.json"}) {
      std::filesystem::copy_file(golden_path("speech/whisper/") + file, folder / file);
    }
    unwrap(
        write_file_atomic(folder / "model.safetensors", write_safetensors(golden().model.weights)));
    return true;
  }();
  EXPECT_TRUE(is_written);
  return folder.path();
}

TEST(SpeechRun, LogitsAreThoseOfTransformers) {
  const TempFolder folder;
  const ProgramResult result =
      run_program({"run", whisper(), "--audio", sound("mono16.wav"), "--prompt", kPrompt,
                   "--max-tokens", "2", "--dump-logits", folder / "logits.safetensors"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const auto dumped = testing::read_tensors(folder / "logits.safetensors");
  const HostTensor& tokens = golden().reference.at("run_tokens");
  const HostTensor& expected = golden().reference.at("run_logits");
  for (int64_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(dumped.at("tokens").at_f64(i), tokens.at_f64(i)) << i;
  }
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(dumped.at("logits").at_f64(i) - expected.at_f64(i)));
  }
  // The published extractor computes in f32.
  EXPECT_LE(largest, 10 * testing::logit_tolerance(expected));
}

std::vector<int32_t> prompt_of(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", whisper(), "--max-tokens", "1", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const ProgramResult result = run_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  return testing::integers(result.json().find("prompt_tokens"));
}

TEST(SpeechRun, TextsBeginAsTheModelExpects) {
  const std::string file = sound("stereo24.flac");
  EXPECT_EQ(prompt_of({"--audio", file}), (std::vector<int32_t>{96, 97, 99, 101}));
  EXPECT_EQ(prompt_of({"--audio", file, "--prompt", "\"!"}),
            (std::vector<int32_t>{96, 97, 99, 101, 1, 0}));
  EXPECT_EQ(prompt_of({"--audio", file, "--prompt", "<|startoftranscript|><|de|>\""}),
            (std::vector<int32_t>{96, 98, 1}));
  // Sound of another rate.
  EXPECT_EQ(prompt_of({"--audio", sound("tone44k.wav")}).size(), 4U);
}

TEST(SpeechRun, NamesWhatDoesNotFit) {
  const std::string file = sound("mono16.wav");
  expect_failure({"run", whisper(), "--prompt", "a"}, 2, {"needs features", "--audio FILE"});
  expect_failure({"run", whisper()}, 2, {"--prompt is required"});
  expect_failure({"run", whisper(), "--audio", "missing.wav"}, 2, {"missing.wav"});
  expect_failure({"run", whisper(), "--audio", whisper() + "/config.json"}, 2,
                 {"not a sound that can be read", "config.json", "WAV or FLAC"});
  expect_failure({"run", whisper(), "--audio", sound("float8k.wav")}, 2,
                 {"longer than the model reads", "at most 1 s", "1.5 s"});
  expect_failure({"run", whisper(), "--audio", file, "--features", "a.npy"}, 2,
                 {"features are given twice"});
  expect_failure({"run", testing::kDemoModel, "--prompt", "a", "--audio", file}, 2,
                 {"the model reads no sound", "leave --audio out"});
  const TempFolder folder;
  std::filesystem::copy(whisper(), folder.path());
  std::filesystem::remove(folder / "generation_config.json");
  expect_failure({"run", folder.path(), "--audio", file}, 2, {"the prompt is empty"});
  // Another number of bands than the encoder's.
  unwrap(write_text_atomic(
      folder / "preprocessor_config.json",
      R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 128})"));
  expect_failure({"run", folder.path(), "--audio", file, "--prompt", "a"}, 2,
                 {"the features do not fit the model", "mono16.wav", "f32[80, 100]"});
  std::filesystem::remove(folder / "preprocessor_config.json");
  expect_failure({"run", folder.path(), "--audio", file, "--prompt", "a"}, 2,
                 {"does not say how sound is prepared", "preprocessor_config.json"});
}

// The kernels of the encoder, too, are tested and moved.
TEST(SpeechRun, CarvesAndMigrates) {
  const std::string file = sound("mono16.wav");
  const TempFolder folder;
  ProgramResult result = run_program({"carve", whisper(), "--audio", file, "--max-tokens", "2",
                                      "-o", folder / "suite", "--weights", "inside"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  result = run_program({"replay", folder / "suite", "--target", "cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("gelu"), std::string::npos) << result.all();
  // Compiling for OpenCL takes long: it is for `make test-models`.
  const char* target = std::getenv("TAPML_TEST_ALL_MODELS") ? "opencl" : "cpu:threads=1";
  result = run_program({"migrate", whisper(), "--from", "cpu", "--to", target, "--audio", file,
                        "--max-tokens", "3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const std::string command = result.json().find("run")->find("command")->as_string();
  EXPECT_NE(command.find("--audio '" + file + "'"), std::string::npos) << command;
}

}  // namespace
}  // namespace tapml
