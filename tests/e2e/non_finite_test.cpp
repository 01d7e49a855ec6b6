// Models with numbers that are not finite: no command reports success.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/safetensors.h"
#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;

class NonFiniteModel : public ::testing::Test {
 protected:
  // The demo model with one weight changed.
  void change(const std::string& name, const std::function<double(int64_t, double)>& value) {
    for (const auto& entry : std::filesystem::directory_iterator(kDemoModel)) {
      std::filesystem::copy(entry.path(), folder_ / entry.path().filename().string(),
                            std::filesystem::copy_options::overwrite_existing);
    }
    auto tensors = testing::read_tensors(kDemoModel + "/model.safetensors");
    HostTensor& weight = tensors.at(name);
    HostTensor changed = HostTensor::zeros(weight.dtype(), weight.shape());
    for (int64_t i = 0; i < weight.size(); ++i) changed.set_f64(i, value(i, weight.at_f64(i)));
    weight = changed;
    std::filesystem::remove(folder_ / "model.safetensors");
    unwrap(write_file_atomic(folder_ / "model.safetensors", write_safetensors(tensors)));
  }
  void put_nan() {
    change(kWeight, [](int64_t i, double x) { return i == 70 ? NAN : x; });
  }
  std::vector<std::string> command(const std::string& name,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> args = {name, folder_.path()};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  static constexpr const char* kWeight = "model.layers.1.mlp.up_proj.weight";
  const std::vector<std::string> named_ = {"model.layers.1.mlp",
                                           "first kernel whose output is not finite",
                                           "weight model.layers.1.mlp.up_proj.weight is broken"};
  testing::TempFolder folder_;
};

TEST_F(NonFiniteModel, RunNamesTheWeight) {
  put_nan();
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {},
           {"--temperature", "0.7"},
           {"--dump-logits", folder_ / "logits.safetensors"},
           {"--target", "opencl"},
           {"--target", "cpu@pipe:" + std::string(TAPML_PROGRAM) + " rpc serve --stdio"}}) {
    std::vector<std::string> args = command("run", {"--prompt", "Emma was", "--max-tokens", "4"});
    args.insert(args.end(), more.begin(), more.end());
    testing::expect_failure(args, 2, named_);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "logits.safetensors"));
  std::vector<std::string> json = command("run", {"--prompt", "Emma was", "--json"});
  const ProgramResult result = run_program(json);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.json().find("error")->find("message")->as_string().find(named_[0]),
            std::string::npos);
}

// f16 activations hold nothing beyond 65504; f32 ones do.
TEST_F(NonFiniteModel, OverflowOfHalfPrecisionNamesTheKernel) {
  change(kWeight, [](int64_t, double x) { return 1e5 * x; });
  testing::expect_failure(
      command("run", {"--prompt", "Emma was", "--quantize", "q4f16", "--max-tokens", "4"}), 2,
      {"model.layers.1.mlp", "infinity in", "--quantize q4f32"});
  const ProgramResult wide = run_program(
      command("run", {"--prompt", "Emma was", "--quantize", "q4f32", "--max-tokens", "4"}));
  EXPECT_EQ(wide.exit_code, 0) << wide.all();
}

TEST_F(NonFiniteModel, EvalFails) {
  put_nan();
  const std::string tasks = folder_ / "tasks.jsonl";
  testing::write_bytes(
      tasks,
      "{\"id\": \"first\", \"kind\": \"perplexity\", \"text\": \"Emma was here.\"}\n"
      "{\"kind\": \"exact_match\", \"prompt\": \"Emma\", \"answer\": \" was\"}\n");
  for (const bool reference : {false, true}) {
    std::vector<std::string> args = command("eval", {"--tasks", tasks, "--json"});
    if (reference) args.insert(args.end(), {"--reference", "cpu", "--target", "opencl"});
    const ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 1) << result.all();
    const Json json = result.json();
    EXPECT_FALSE(json.find("passed")->as_bool());
    for (const Json& target : json.find("targets")->items()) {
      const std::string& failure = target.find("failure")->as_string();
      EXPECT_NE(failure.find("task first"), std::string::npos) << failure;
      EXPECT_NE(failure.find("model.layers.1.mlp"), std::string::npos) << failure;
      EXPECT_EQ(target.find("correct")->as_integer(), 0);
    }
    args.erase(std::ranges::find(args, "--json"));
    EXPECT_NE(run_program(args).out.find("does not compute finite logits"), std::string::npos);
  }
}

TEST_F(NonFiniteModel, CarvingAndMigratingReportIt) {
  put_nan();
  for (const std::string temperature : {"0", "0.7"}) {
    for (const std::string batch : {"1", "2"}) {
      const ProgramResult carved =
          run_program(command("carve", {"--prompt", "Emma was", "--prompt", "She had", "--batch",
                                        batch, "--temperature", temperature, "-o",
                                        folder_ / ("suite" + temperature + batch), "--json"}));
      EXPECT_EQ(carved.exit_code, 1) << carved.all();
      EXPECT_EQ(carved.json().find("nan")->find("layers")->as_string().find("model.layers.1.mlp"),
                0u)
          << carved.all();
    }
  }
  const ProgramResult migrated = run_program(
      command("migrate", {"--from", "cpu", "--to", "opencl", "--prompt", "Emma was", "--json"}));
  EXPECT_EQ(migrated.exit_code, 1) << migrated.all();
  EXPECT_FALSE(migrated.json().find("nan")->is_null());
}

// Infinities without a NaN: no call of the source can report one.
TEST_F(NonFiniteModel, InfinityOfTheSourceStopsTheMigration) {
  // Two rows of the head for each hidden element, one of each sign: some logit is +infinity.
  constexpr int64_t kHidden = 192;
  change("lm_head.weight", [](int64_t i, double x) {
    const int64_t row = i / kHidden;
    if (row >= 2 * kHidden) return x;
    if (i % kHidden != row % kHidden) return 0.0;
    return row < kHidden ? 3e38 : -3e38;
  });
  testing::expect_failure(command("run", {"--prompt", "Emma was", "--max-tokens", "2"}), 2,
                          {"not finite", "lm_head", "+infinity in"});
  const ProgramResult migrated = run_program(
      command("migrate", {"--from", "cpu", "--to", "opencl", "--prompt", "Emma was", "--json"}));
  EXPECT_NE(migrated.exit_code, 0) << migrated.all();
}

}  // namespace
}  // namespace tapml
