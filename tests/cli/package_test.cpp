// `tapml compile --package`: what it writes, which commands accept a package, what it rejects.
#include <gtest/gtest.h>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "support/golden_path.h"
#include "support/program.h"
#include "support/quantized_models.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// A folder for all tests, built once and moved once.
const std::string& package() {
  static TempFolder folder;
  static const std::string moved = [] {
    ProgramResult made = run_program(
        {"compile", kDemoModel, "--target", "cpu", "--package", folder / "made", "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.all();
    int64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder / "made")) {
      bytes += static_cast<int64_t>(file.file_size());
    }
    const Json json = made.json();
    EXPECT_EQ(json.find("package")->as_string(), folder / "made");
    EXPECT_EQ(json.find("package_bytes")->as_integer(), bytes);
    std::filesystem::rename(folder / "made", folder / "moved");
    return folder / "moved";
  }();
  return moved;
}

TEST(Package, HoldsAllThatARunNeeds) {
  EXPECT_EQ(
      testing::names_under(package()),
      (std::set<std::string>{"generation_config.json", "model.tapml", "package.json",
                             "tokenizer.json", "tokenizer_config.json", "weights.safetensors"}));
  // The package contains nothing about the build machine.
  EXPECT_EQ(testing::read_bytes(package() + "/model.tapml").find(TAPML_SOURCE_DIR),
            std::string::npos);
}

TEST(Package, RunsAsTheModelDoes) {
  const std::vector<std::string> options = {"--prompt", "In the beginning", "--max-tokens", "30",
                                            "--json"};
  std::vector<std::string> model = {"run", kDemoModel}, shipped = {"run", package()};
  model.insert(model.end(), options.begin(), options.end());
  shipped.insert(shipped.end(), options.begin(), options.end());
  const ProgramResult expected = run_program(model), found = run_program(shipped);
  ASSERT_EQ(expected.exit_code, 0) << expected.all();
  ASSERT_EQ(found.exit_code, 0) << found.all();
  EXPECT_EQ(integers(found.json().find("tokens")), integers(expected.json().find("tokens")));
  EXPECT_EQ(found.json().find("timings")->find("compile")->as_double(), 0);
}

TEST(Package, OtherCommandsAcceptItLikeAnExecutable) {
  TempFolder folder;
  ProgramResult carved = run_program(
      {"carve", package(), "--prompt", "Emma was", "--max-tokens", "2", "-o", folder / "suite"});
  EXPECT_EQ(carved.exit_code, 0) << carved.all();
  expect_failure({"carve", package(), "--prompt", "Emma was", "--weights", "reference", "-o",
                  folder / "other"},
                 2, {"weights by reference"});
  expect_failure({"run", package(), "--model", kDemoModel, "--prompt", "a"}, 2,
                 {"--model goes with an executable only", "its own weights"});
  expect_failure({"run", package(), "--quantize", "q4f32", "--prompt", "a"}, 2,
                 {"--quantize goes with a model directory only"});
  expect_failure({"run", package(), "--target", "opencl", "--prompt", "a"}, 2,
                 {"was made for another platform"});
}

// The tokenizer of a folder without tokenizer.json goes along.
TEST(Package, OfRwkvHasItsVocabulary) {
  TempFolder model, made;
  std::string config = unwrap(read_text_file(testing::golden_path("logits/rwkv7/config.json")));
  const std::string vocabulary = "\"vocab_size\": 203";
  config.replace(config.find(vocabulary), vocabulary.size(), "\"vocab_size\": 1757");
  testing::write_model(model, config);
  const std::string golden = testing::golden_path("tokenizer/rwkv");
  for (const char* name :
       {"rwkv_vocab_v20230424.txt", "added_tokens.json", "special_tokens_map.json"}) {
    std::filesystem::copy_file(golden + "/" + name, model / name);
  }
  const ProgramResult compiled =
      run_program({"compile", model.path(), "--target", "cpu", "--package", made / "package"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  EXPECT_TRUE(testing::names_under(made / "package").contains("rwkv_vocab_v20230424.txt"));
  const auto run = [](const std::string& folder) {
    return run_program(
        {"run", folder, "--prompt", "In the beginning, 世界", "--max-tokens", "5", "--json"});
  };
  const ProgramResult expected = run(model.path()), found = run(made / "package");
  ASSERT_EQ(expected.exit_code, 0) << expected.all();
  ASSERT_EQ(found.exit_code, 0) << found.all();
  EXPECT_EQ(integers(found.json().find("tokens")), integers(expected.json().find("tokens")));
  EXPECT_EQ(found.json().find("text")->as_string(), expected.json().find("text")->as_string());
  // Without it the package is not complete.
  std::filesystem::remove(made / "package/rwkv_vocab_v20230424.txt");
  expect_failure({"run", made / "package", "--prompt", "a"}, 2, {"rwkv_vocab_v20230424.txt"});
}

TEST(Package, ShipsQuantizedWeightsInTheirRunTimeForm) {
  TempFolder folder;
  ProgramResult made = run_program({"compile", kDemoModel, "--target", "cpu", "--quantize", "q4f32",
                                    "--package", folder / "q4", "-o", folder / "q4.tapml"});
  ASSERT_EQ(made.exit_code, 0) << made.all();
  EXPECT_LT(std::filesystem::file_size(folder / "q4/weights.safetensors"),
            std::filesystem::file_size(package() + "/weights.safetensors") * 2 / 3);
  const std::vector<std::string> rest = {"--prompt", "Emma was", "--max-tokens", "20", "--json"};
  std::vector<std::string> file = {"run", folder / "q4.tapml"}, shipped = {"run", folder / "q4"};
  file.insert(file.end(), rest.begin(), rest.end());
  shipped.insert(shipped.end(), rest.begin(), rest.end());
  const ProgramResult expected = run_program(file), found = run_program(shipped);
  ASSERT_EQ(expected.exit_code, 0) << expected.all();
  ASSERT_EQ(found.exit_code, 0) << found.all();
  EXPECT_EQ(integers(found.json().find("tokens")), integers(expected.json().find("tokens")));
}

TEST(Package, ReplacesAPackageAndNothingElse) {
  TempFolder folder;
  std::filesystem::copy(package(), folder / "old");
  testing::write_bytes(folder / "old/special_tokens_map.json", "{}");
  ProgramResult again =
      run_program({"compile", kDemoModel, "--target", "cpu", "--package", folder / "old"});
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_EQ(testing::names_under(folder / "old"), testing::names_under(package()));
  for (const std::string& name : testing::names_under(package())) {
    EXPECT_EQ(testing::read_bytes(folder / ("old/" + name)),
              testing::read_bytes(package() + "/" + name))
        << name;
  }

  testing::copy_demo_model(folder / "model");
  expect_failure({"compile", folder / "model", "--package", folder / "model"}, 2,
                 {"contains files that are not a package", "a model directory"});
  testing::write_bytes(folder / "file", "x");
  expect_failure({"compile", kDemoModel, "--package", folder / "file"}, 2, {"is a file"});
}

TEST(Package, IsMadeOfAModelDirectory) {
  TempFolder folder;
  expect_failure({"compile", "--config", kDemoModel + "/config.json", "--package", folder / "p"}, 2,
                 {"--package goes with a model directory only"});
  testing::write_bytes(folder / "program.txt", "module {}");
  expect_failure({"compile", folder / "program.txt", "--package", folder / "p"}, 2,
                 {"--package goes with a model directory only", "program.txt"});
  testing::copy_demo_model(folder / "model");
  std::filesystem::remove(folder / "model/tokenizer.json");
  expect_failure({"compile", folder / "model", "--package", folder / "p"}, 2,
                 {"there is no tokenizer.json"});
  EXPECT_FALSE(std::filesystem::exists(folder / "p"));
}

}  // namespace
}  // namespace tapml
