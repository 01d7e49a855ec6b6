// Encoders in the top-down commands: kernel by kernel from the cpu to OpenCL without a finding, an
// injected fault that is found, and carved tests that replay.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/encoder_folder.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::EncoderFolder;
using testing::expect_failure;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

// A golden encoder, and how it is quantized; empty: not at all.
using EncoderCase = std::pair<std::string, std::string>;

ProgramResult run_on(const EncoderFolder& model, const std::string& command,
                     std::vector<std::string> more) {
  std::vector<std::string> args = {command, model.path()};
  for (const auto& words : {model.text_options(), more}) {
    args.insert(args.end(), words.begin(), words.end());
  }
  return run_program(args);
}

class EncoderMigration : public ::testing::TestWithParam<EncoderCase> {};

TEST_P(EncoderMigration, HasNoFinding) {
  const auto& [name, quantization] = GetParam();
  const EncoderFolder model = EncoderFolder::quantizable(name);
  std::vector<std::string> more = {"--to", "opencl", "--json"};
  if (!quantization.empty()) more.insert(more.end(), {"--quantize", quantization});
  const ProgramResult result = run_on(model, "migrate", more);
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
  EXPECT_GT(json.find("kernels")->items().size(), 5u);
  const Json& whole = *json.find("whole_model");
  EXPECT_EQ(whole.find("positions")->as_integer(), std::ssize(model.texts()));
  EXPECT_LT(whole.find("cosine_distance")->as_double(), 1e-6);
  EXPECT_LE(whole.find("max_abs")->as_double(), whole.find("bound")->as_double());
}

// All architectures of encoders in both formats are for `make test-models`.
std::vector<EncoderCase> encoder_cases() {
  if (!std::getenv("TAPML_TEST_ALL_MODELS")) {
    return {{"bert", ""}, {"modernbert", "q4f32"}};
  }
  std::vector<EncoderCase> all;
  for (const char* name : {"bert", "modernbert", "modernbert_biased", "roberta", "xlm_roberta",
                           "camembert", "mpnet"}) {
    for (const char* quantization : {"", "q4f32"}) all.emplace_back(name, quantization);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Encoders, EncoderMigration, ::testing::ValuesIn(encoder_cases()),
                         [](const auto& info) {
                           return info.param.first + (info.param.second.empty() ? "" : "_") +
                                  info.param.second;
                         });

TEST(EncoderLocalize, FindsAFault) {
  const EncoderFolder model("bert_one_type");
  const TempFolder folder;
  const ProgramResult result =
      run_on(model, "localize",
             {"--to", "cpu:threads=1", "--inject-fault", "attention:missing-scale",
              "--shrink-seconds", "0", "--report", folder / "report", "--json"});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json = result.json();
  EXPECT_EQ(json.find("verdict")->as_string(), "FAIL");
  const auto culprits = testing::strings(json.find("culprits"));
  ASSERT_EQ(culprits.size(), 1u) << result.all();
  EXPECT_NE(culprits[0].find("attention"), std::string::npos) << culprits[0];
  EXPECT_TRUE(json.find("rest")->find("passed")->as_bool());
  const std::string page = testing::read_bytes(folder / "report/report.html");
  EXPECT_NE(page.find("cosine distance at most"), std::string::npos);
  // The command on the page has the texts.
  EXPECT_NE(page.find("--text '" + model.texts()[2] + "'"), std::string::npos);
}

TEST(EncoderMigrate, ReportsAFaultOfTheModel) {
  const EncoderFolder model("bert_one_type");
  const ProgramResult result = run_on(
      model, "migrate", {"--to", "cpu:threads=1", "--inject-fault", "attention:dropped-tail"});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_NE(result.out.find("culprit: kernel"), std::string::npos) << result.out;
  EXPECT_TRUE(result.last_line().starts_with("FAIL")) << result.out;
}

TEST(EncoderCarve, CarvesTestsThatReplay) {
  const EncoderFolder model("modernbert");
  const TempFolder folder;
  const ProgramResult carved = run_on(model, "carve", {"-o", folder / "suite", "--json"});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  EXPECT_GT(carved.json().find("added")->as_integer(), 0);
  EXPECT_TRUE(carved.json().find("untested")->items().empty());
  const ProgramResult replayed =
      run_program({"replay", folder / "suite", "--target", "opencl", "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.all();
  EXPECT_EQ(replayed.json().find("verdict")->as_string(), "PASS");
}

TEST(EncoderCommands, RefuseWhatIsNotForEncoders) {
  const EncoderFolder model("bert");
  const std::string path = model.path();
  expect_failure({"migrate", path, "--prompt", "t1"}, 2, {"encoder", "--text"});
  expect_failure({"migrate", path, "--prompt", "t1", "--text", "t2"}, 2, {"--prompt", "none with"});
  expect_failure({"migrate", path}, 2, {"the prompt is empty", "--text"});
  expect_failure({"localize", testing::kDemoModel, "--text", "t2"}, 2, {"not an encoder"});
  expect_failure({"carve", path, "--text", "t2", "--decode", "2", "-o", "out"}, 2, {"--decode"});
  expect_failure({"migrate", path, "--text", ""}, 2, {"no tokens"});
}

}  // namespace
}  // namespace tapml
