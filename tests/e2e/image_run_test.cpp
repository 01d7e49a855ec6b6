// --image: files of pictures in the texts of models that read images, against transformers, and
// what is refused.
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

const std::string kImagePrompt = "Look:<image>What,is,it?";

std::string picture(const std::string& name) { return golden_path("pictures/" + name); }

// A golden model as a model folder.
void write_model(const std::string& folder, const std::string& name, const GoldenModel& golden) {
  for (const char* file : {"config.json", "preprocessor_config.json", "tokenizer.json"}) {
    std::filesystem::copy_file(golden_path("images/" + name + "/") + file, folder + "/" + file);
  }
  unwrap(write_file_atomic(folder + "/model.safetensors", write_safetensors(golden.model.weights)));
}

// The folder of the golden model "llava".
const std::string& llava() {
  static const TempFolder folder;
  static const bool is_written = [] {
    write_model(folder.path(), "llava", testing::golden_model("llava", "images"));
    return true;
  }();
  EXPECT_TRUE(is_written);
  return folder.path();
}

class ImageRun : public ::testing::TestWithParam<std::string> {};

TEST_P(ImageRun, LogitsAreThoseOfTransformers) {
  const GoldenModel golden = testing::golden_model(GetParam(), "images");
  const TempFolder folder;
  write_model(folder.path(), GetParam(), golden);
  const std::string placeholder = golden.interface().image->placeholder;
  const std::string prompt =
      placeholder.empty() ? kImagePrompt : "Look:" + placeholder + "What,is,it?";
  const ProgramResult result =
      run_program({"run", folder.path(), "--prompt", prompt, "--image", picture("progressive.jpg"),
                   "--max-tokens", "2", "--dump-logits", folder / "logits.safetensors"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const auto dumped = testing::read_tensors(folder / "logits.safetensors");
  const HostTensor& tokens = golden.reference.at("run_tokens");
  const HostTensor& expected = golden.reference.at("run_logits");
  for (int64_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(dumped.at("tokens").at_f64(i), tokens.at_f64(i)) << i;
  }
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(dumped.at("logits").at_f64(i) - expected.at_f64(i)));
  }
  EXPECT_LE(largest, testing::logit_tolerance(expected));
}

INSTANTIATE_TEST_SUITE_P(Models, ImageRun, ::testing::ValuesIn(testing::image_golden_models()),
                         [](const auto& info) { return info.param; });

std::vector<int32_t> tokens_of(const std::string& model, const std::string& prompt,
                               const std::vector<std::string>& images) {
  std::vector<std::string> words = {"run",          model, "--prompt", prompt,
                                    "--max-tokens", "9",   "--json"};
  for (const std::string& image : images) words.insert(words.end(), {"--image", picture(image)});
  const ProgramResult result = run_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  return testing::integers(result.json().find("tokens"));
}

TEST(ImageOption, TextsWithoutImagesAndWithSeveral) {
  const std::string two = "a<image>b<image>";
  EXPECT_EQ(tokens_of(llava(), "What,is,it?", {}).size(), 9U);
  const auto first = tokens_of(llava(), two, {"rgb.png", "gray.jpg"});
  EXPECT_NE(first, tokens_of(llava(), two, {"gray.jpg", "rgb.png"}));
  EXPECT_EQ(first, tokens_of(llava(), two, {"rgb.png", "gray.jpg"}));
}

TEST(ImageOption, NamesWhatDoesNotFit) {
  const std::string image = picture("rgb.png");
  expect_failure({"run", llava(), "--prompt", "What?", "--image", image}, 2,
                 {"0 places for images, but there are 1", "1 placeholder \"<image>\""});
  expect_failure({"run", llava(), "--prompt", kImagePrompt}, 2,
                 {"1 place for images, but there are none", "give an image for each"});
  expect_failure({"run", llava(), "--prompt", kImagePrompt, "--image", image, "--image", image}, 2,
                 {"1 place for images, but there are 2"});
  expect_failure({"run", llava(), "--prompt", kImagePrompt, "--image", llava() + "/config.json"}, 2,
                 {"not an image that can be read", "config.json", "PNG or JPEG"});
  expect_failure({"run", llava(), "--prompt", kImagePrompt, "--image", "missing.png"}, 2,
                 {"missing.png"});
  expect_failure({"run", testing::kDemoModel, "--prompt", "a", "--image", image}, 2,
                 {"the model reads no images", "leave --image out"});
  const TempFolder folder;
  std::filesystem::copy(llava(), folder.path());
  std::filesystem::remove(folder / "preprocessor_config.json");
  expect_failure({"run", folder.path(), "--prompt", kImagePrompt, "--image", image}, 2,
                 {"does not say how images are prepared", "preprocessor_config.json"});
  // Another size than the encoder's.
  unwrap(write_text_atomic(folder / "preprocessor_config.json",
                           R"({"image_processor_type": "SiglipImageProcessor"})"));
  expect_failure({"run", folder.path(), "--prompt", kImagePrompt, "--image", image}, 2,
                 {"the pixels do not fit the model", "rgb.png", "f32[3, 224, 224]"});
}

// The kernels of the encoder, too, are tested and moved.
TEST(ImageOption, CarvesAndMigrates) {
  const TempFolder folder;
  ProgramResult result =
      run_program({"carve", llava(), "--prompt", kImagePrompt, "--image", picture("rgb.png"),
                   "--max-tokens", "2", "-o", folder / "suite", "--weights", "inside"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  result = run_program({"replay", folder / "suite", "--target", "cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.out.find("gelu"), std::string::npos) << result.all();
  // Compiling the kernels for OpenCL takes most of half a minute: make test-models.
  const bool all = std::getenv("TAPML_TEST_ALL_MODELS") != nullptr;
  result = run_program({"migrate", llava(), "--from", "cpu", "--to",
                        all ? "opencl" : "cpu:threads=1", "--in-process", "--prompt", kImagePrompt,
                        "--image", picture("rgb.png"), "--max-tokens", "3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_TRUE(result.json().find("passed")->as_bool());
  const std::string command = result.json().find("run")->find("command")->as_string();
  EXPECT_NE(command.find("--image '" + picture("rgb.png") + "'"), std::string::npos) << command;
}

}  // namespace
}  // namespace tapml
