// The further architectures, migrated kernel by kernel from the cpu to OpenCL without a finding:
// a prefill, decode steps, texts of several lengths, fragmented caches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/golden_models.h"
#include "support/program.h"
#include "support/quantized_models.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::TempFolder;

struct MigrationCase {
  std::string model;
  std::string quantization;  // empty: none
};

void PrintTo(const MigrationCase& test, std::ostream* out) {
  *out << test.model << " " << test.quantization;
}

// All models, with and without quantization, are for `make test-models`.
std::vector<MigrationCase> migration_cases() {
  if (!std::getenv("TAPML_TEST_ALL_MODELS")) {
    return {{"gemma2", ""}, {"qwen3_next", ""}};
  }
  std::vector<MigrationCase> all;
  for (const std::string& name : testing::other_golden_models()) {
    for (const char* quantization : {"", "q4f32"}) all.push_back({name, quantization});
  }
  return all;
}

// A folder of the golden configuration with the vocabulary and the tokenizer of the demo model.
void write_folder(const TempFolder& folder, const std::string& name) {
  std::string config =
      unwrap(read_text_file(testing::golden_path("logits/" + name + "/config.json")));
  const std::string old = "vocab_size\": 203";  // or "padded_vocab_size"
  config.replace(config.find(old), old.size(), "vocab_size\": 2048");
  // Gemma 4's second table has a row for each token.
  const std::string second = "vocab_size_per_layer_input\": ";
  if (const size_t at = config.find(second); at != std::string::npos) {
    config.replace(at, second.size() + 3, second + "2048");
  }
  testing::write_model(folder, config);
  std::filesystem::copy_file(kDemoModel + "/tokenizer.json", folder / "tokenizer.json");
}

class OtherMigrations : public ::testing::TestWithParam<MigrationCase> {};

TEST_P(OtherMigrations, HaveNoFinding) {
  TempFolder folder;
  write_folder(folder, GetParam().model);
  std::vector<std::string> args = {
      "migrate",      folder.path(), "--from",   "cpu",
      "--to",         "opencl",      "--prompt", "In the beginning God made",
      "--max-tokens", "8",           "--json"};
  if (!GetParam().quantization.empty()) {
    args.insert(args.end(), {"--quantize", GetParam().quantization});
  }
  // A hundred kernels that run a few times each: what their optimization costs is not gained.
  ProgramResult result =
      testing::run_program(args, {.environment = {{"POCL_WORK_GROUP_METHOD", "loops"},
                                                  {"POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable"}}});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
  EXPECT_GT(json.find("kernels")->items().size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(OtherModels, OtherMigrations, ::testing::ValuesIn(migration_cases()),
                         [](const auto& info) {
                           const MigrationCase& one = info.param;
                           return one.model + (one.quantization.empty() ? "" : "_") +
                                  one.quantization;
                         });

}  // namespace
}  // namespace tapml
