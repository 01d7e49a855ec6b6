// `tapml run` on the demo model against PyTorch's greedy tokens.
#include <gtest/gtest.h>

#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::integers;
using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;

constexpr int32_t kEos = 2047;
const std::vector<std::pair<std::string, std::string>> kPrompts = {
    {"", "David went"},
    {".1", "Jesus said to his disciples,"},
    {".2", "Emma was"},
    {".3", "“I am very glad"}};

class RunGolden : public ::testing::TestWithParam<const char*> {
 protected:
  std::map<std::string, HostTensor> reference_ =
      testing::read_tensors(testing::golden_path("logits/demo/golden.safetensors"));

  // Checks the form of the logits dump; returns its largest error on the golden text.
  double measured_error() {
    testing::TempFolder folder;
    ProgramResult result = run_program(
        {"run", kDemoModel, "--target", GetParam(), "--prompt",
         "He said to them, “Go out into the city, and find a man who has a house.” They went out.",
         "--max-tokens", "3", "--dump-logits", folder / "logits.safetensors"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    auto dumped = testing::read_tensors(folder / "logits.safetensors");
    const HostTensor &tokens = reference_.at("tokens"), &logits = reference_.at("logits");
    const int64_t count = tokens.size();
    EXPECT_EQ(dumped.at("tokens").shape(), (std::vector<int64_t>{count + 3}));
    EXPECT_EQ(dumped.at("logits").shape(), (std::vector<int64_t>{count + 2, logits.shape()[1]}));
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(dumped.at("tokens").at_f64(i), tokens.at_f64(i));
    }
    double worst = 0;
    for (int64_t i = 0; i < logits.size(); ++i) {
      worst = std::max(worst, std::abs(dumped.at("logits").at_f64(i) - logits.at_f64(i)));
    }
    EXPECT_LE(worst, testing::logit_tolerance(logits));
    return worst;
  }
};

TEST_P(RunGolden, TokensEqualOrTied) {
  const double error = measured_error();
  for (const auto& [suffix, prompt] : kPrompts) {
    ProgramResult result = run_program({"run", kDemoModel, "--target", GetParam(), "--prompt",
                                        prompt, "--max-tokens", "200", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    Json json = result.json();
    auto ids = reference_.at("prompt" + suffix).values<int32_t>();
    EXPECT_EQ(integers(json.find("prompt_tokens")), std::vector<int32_t>(ids.begin(), ids.end()));
    EXPECT_EQ(json.find("target")->as_string(), GetParam());
    for (const char* field : {"load", "compile", "prefill", "decode", "tokens_per_s"}) {
      const Json* seconds = json.find("timings")->find(field);
      ASSERT_NE(seconds, nullptr) << field;
      EXPECT_GE(seconds->as_double(), 0) << field;
    }
    // The program stops at the end-of-text token; the golden text continues after it.
    auto all = reference_.at("greedy" + suffix).values<int32_t>();
    std::vector<int32_t> expected(all.begin(), std::find(all.begin(), all.end(), kEos));
    std::vector<int32_t> tokens = integers(json.find("tokens"));
    auto [mine, golden] =
        std::mismatch(tokens.begin(), tokens.end(), expected.begin(), expected.end());
    if (mine == tokens.end() && golden == expected.end()) {
      EXPECT_FALSE(json.find("text")->as_string().empty());
      continue;
    }
    const auto at = golden - expected.begin();
    EXPECT_LE(reference_.at("margins" + suffix).at_f64(at), 2 * error)
        << "\"" << prompt << "\" parts at token " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, RunGolden, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Run, StreamsTheTextOfItsJson) {
  const std::vector<std::string> args = {"run",      kDemoModel,     "--prompt",
                                         "Emma was", "--max-tokens", "24"};
  ProgramResult plain = run_program(args);
  ASSERT_EQ(plain.exit_code, 0) << plain.all();
  std::vector<std::string> with_json = args;
  with_json.push_back("--json");
  ProgramResult json = run_program(with_json);
  ASSERT_EQ(json.exit_code, 0) << json.all();
  EXPECT_EQ(plain.out, json.json().find("text")->as_string() + "\n");
  EXPECT_NE(plain.err.find("generated"), std::string::npos) << plain.err;
  EXPECT_EQ(json.err, "");
}

TEST(Run, SampledTextsDependOnTheSeed) {
  auto tokens = [](const std::vector<std::string>& options) {
    std::vector<std::string> args = {"run",          kDemoModel, "--prompt", "Emma was",
                                     "--max-tokens", "24",       "--json"};
    args.insert(args.end(), options.begin(), options.end());
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return integers(result.json().find("tokens"));
  };
  auto sampled = tokens({"--temperature", "0.9", "--top-p", "0.95", "--seed", "3"});
  EXPECT_EQ(sampled, tokens({"--temperature", "0.9", "--top-p", "0.95", "--seed", "3"}));
  EXPECT_NE(sampled, tokens({"--temperature", "0.9", "--top-p", "0.95", "--seed", "4"}));
  EXPECT_NE(sampled, tokens({}));
  EXPECT_EQ(tokens({"--seed", "18446744073709551615"}), tokens({"--top-k", "5", "--top-p", "0.5"}));
  EXPECT_EQ(tokens({"--temperature", "2", "--top-k", "1"}), tokens({}));
}

TEST(Run, SameTokensOnAnyNumberOfThreads) {
  auto tokens = [](const std::string& target) {
    ProgramResult result = run_program({"run", kDemoModel, "--target", target, "--prompt",
                                        "Emma was", "--max-tokens", "16", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return integers(result.json().find("tokens"));
  };
  auto one = tokens("cpu:threads=1");
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(one, tokens("cpu:threads=2"));
  EXPECT_EQ(one, tokens("cpu:threads=3"));
}

}  // namespace
}  // namespace tapml
