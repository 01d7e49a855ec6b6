// Suites with missing, altered or hostile files, through `tapml replay`.
#include <gtest/gtest.h>

#include "support/program.h"
#include "topdown/suite/suite.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::read_bytes;
using testing::TempFolder;
using testing::write_bytes;

// The faults that `suite verify` finds in a readable suite, or the reason why it cannot be read.
void expect_fault(const std::vector<std::string>& args, const std::vector<std::string>& parts,
                  bool readable = true) {
  const testing::ProgramResult result = testing::run_program(args);
  EXPECT_EQ(result.exit_code, readable ? 1 : 2) << result.all();
  for (const std::string& part : parts) {
    EXPECT_NE(result.all().find(part), std::string::npos) << part << "\n" << result.all();
  }
  if (readable) {
    EXPECT_TRUE(result.last_line().starts_with("FAIL ")) << result.all();
  }
}

class BadSuite : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    carved_ = std::make_unique<TempFolder>();
    testing::ProgramResult result =
        testing::run_program({"carve", testing::kDemoModel, "--prompt", "Emma was", "--max-tokens",
                              "2", "--calls", "1", "-o", *carved_ / "suite"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
  }
  static void TearDownTestSuite() { carved_.reset(); }
  void SetUp() override {
    std::filesystem::copy(*carved_ / "suite", suite_, std::filesystem::copy_options::recursive);
    json_ = read_bytes(suite_ + "/suite.json");
  }

  void refused(const std::vector<std::string>& parts, int code = 2) {
    expect_failure({"replay", suite_, "--target", "cpu"}, code, parts);
  }
  void altered(const std::string& from, const std::string& to,
               const std::vector<std::string>& parts) {
    SCOPED_TRACE(from + " -> " + to);
    testing::replace_in(suite_ + "/suite.json", from, to);
    refused(parts);
    write_bytes(suite_ + "/suite.json", json_);
  }
  std::string a_tensor() const {
    return std::filesystem::directory_iterator(suite_ + "/tensors")->path().string();
  }

  static std::unique_ptr<TempFolder> carved_;
  TempFolder folder_;
  const std::string suite_ = folder_ / "suite";
  std::string json_;
};

std::unique_ptr<TempFolder> BadSuite::carved_;

TEST_F(BadSuite, MissingFiles) {
  const std::string tensor = a_tensor(), saved = read_bytes(tensor);
  std::filesystem::remove(tensor);
  refused({std::filesystem::path(tensor).filename().string()});
  write_bytes(tensor, saved);
  std::filesystem::remove(suite_ + "/suite.json");
  refused({"suite.json"});
}

TEST_F(BadSuite, AlteredTensor) {
  const std::string tensor = a_tensor();
  std::string bytes = read_bytes(tensor);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(tensor, bytes);
  refused({"altered", std::filesystem::path(tensor).stem().string(), "carve the suite again"});
  write_bytes(tensor, bytes.substr(0, bytes.size() / 2));
  refused({std::filesystem::path(tensor).filename().string()});
  write_bytes(tensor, "");
  refused({std::filesystem::path(tensor).filename().string()});
}

TEST_F(BadSuite, HostileSuiteJson) {
  write_bytes(suite_ + "/suite.json", "");
  refused({"suite.json"});
  write_bytes(suite_ + "/suite.json", json_.substr(0, json_.size() / 2));
  refused({"suite.json"});
  write_bytes(suite_ + "/suite.json", std::string(100000, '['));
  refused({"suite.json"});
  write_bytes(suite_ + "/suite.json", "[]");
  refused({"suite.json", "an object"});
  write_bytes(suite_ + "/suite.json", json_);
  altered("\"tapml-suite\"", "\"other\"", {"schema", "tapml-suite"});
  altered("\"version\": 1", "\"version\": 2", {"another format version", "version 1", "2"});
  altered("\"version\": 1", "\"version\": 0", {"another format version", "version 1", "0"});
  altered("\"quantization\": \"\"", "\"quantization\": 4",
          {"suite.json", "quantization", "a string"});
  altered("\"quantization\": \"\"", "\"quantization\": \"q5\"",
          {"suite.json:", "unknown quantization", "q4f32", "q5"});
  altered("\"complete\": true", "\"complete\": false", {"suite.json:", "a reason if"});
  altered("\"complete\": true", "\"complete\": 1", {"suite.json", "complete", "true or false"});
  altered("\"reason\": \"\"", "\"reason\": 1", {"suite.json", "reason", "a string"});
  altered("\"untested\": []", "\"untested\": [1]", {"suite.json", "kernel"});
  altered("\"times\": 1", "\"times\": 0", {"suite.json", "times", "1 or more"});
  altered("\"times\": 1", "\"added\": 1, \"times\": 1", {"suite.json", "added", "true or false"});
  altered("\"dropped\": ", "\"dropped\": -1", {"suite.json", "dropped", "0 or more"});
  altered("\"weights\": {}", "\"weights\": {\"../x\": \"y\"}", {"content hash", "../x"});
  altered("\"kernel\": 0", "\"kernel\": 1000", {"suite.json", "kernel"});
  altered("\"kernel\": 0", "\"kernel\": -1", {"suite.json", "kernel"});
  altered("\"in\"", "\"sideways\"", {"suite.json", "in, out or inout"});
  const size_t modes = json_.find("\"modes\"");
  const std::string first = json_.substr(modes, json_.find(']', modes) - modes);
  std::string only_in = first;
  only_in.replace(only_in.find("\"out\""), 5, "\"in\"");
  altered(first, only_in, {"content hash"});
  altered("\"scalars\": [", "\"scalars\": [3, ", {"does not fit its kernel", "take_", "scalars"});
  altered("\"before\": [", "\"before\": [7, ", {"suite.json", "strings"});
  altered("def take_", "def toke_", {"take_"});
  altered("\"spec\": \"", "\"spec\": \"!", {"spec"});
  // A file name must not lead out of the folder.
  size_t at = json_.find("\"before\": [");
  at = json_.find('"', at + 11) + 1;
  altered(json_.substr(at, 64), "../../../../../../etc/passwd", {"content hash"});
}

TEST_F(BadSuite, TensorsThatDoNotFitTheirKernel) {
  // Two tensors of a call are swapped, so that dtypes and shapes no longer fit the specification.
  auto json = parse_json(json_, "suite.json");
  ASSERT_TRUE(json);
  const auto& call = json->find("calls")->items()[0];
  const std::string a = call.find("before")->items()[0].as_string();
  const std::string b = call.find("before")->items()[1].as_string();
  ASSERT_NE(a, b);
  altered(a, b, {"a carved tensor does not fit", "take_", "bf16", "i32"});
}

// `suite verify --model` compares a suite with a model.
TEST_F(BadSuite, OfAnotherModelOrPolicy) {
  const std::string model = folder_ / "model";
  std::filesystem::copy(testing::kDemoModel, model);
  EXPECT_EQ(testing::run_program({"suite", "verify", suite_, "--model", model}).exit_code, 0);
  // A kernel's name depends on what it computes: a model with another epsilon has other norms.
  testing::replace_in(model + "/config.json", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 1e-06");
  expect_fault({"suite", "verify", suite_, "--model", model},
               {"the model no longer has kernel rms_norm_"});
  testing::replace_in(suite_ + "/suite.json", "\"fusion_policy\": \"", "\"fusion_policy\": \"x");
  expect_fault({"suite", "verify", suite_, "--model", model},
               {"another fusion policy", "xdefault", "carve it from this model"});
}

TEST_F(BadSuite, WeightsByReference) {
  const std::string model = folder_ / "model", suite = folder_ / "reference";
  std::filesystem::copy(testing::kDemoModel, model);
  testing::ProgramResult result =
      testing::run_program({"carve", model, "--prompt", "Emma was", "--decode", "1", "--calls", "1",
                            "--weights", "reference", "-o", suite, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_GT(result.json().find("weights")->as_integer(), 5);
  EXPECT_EQ(testing::run_program({"suite", "verify", suite}).exit_code, 0);
  // The model moves.
  const std::string there = folder_ / "there";
  std::filesystem::rename(model, there);
  expect_failure({"replay", suite}, 2, {"was not found", model, "--model DIR", "content hash"});
  result = testing::run_program({"replay", suite, "--model", there});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  // The last weight of the file changes.
  std::string bytes = read_bytes(there + "/model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(there + "/model.safetensors", bytes);
  expect_failure({"replay", suite, "--model", there}, 2, {"is not the suite's", "weight model."});
}

TEST_F(BadSuite, PromptsThatCannotBeCarved) {
  const std::string prompts = folder_ / "prompts.txt", out = folder_ / "out";
  std::string words;
  for (int i = 0; i < 600; ++i) words += "and ";
  write_bytes(prompts, "Emma was\n\n" + words + "\n");
  const std::vector<std::string> carve = {"carve", testing::kDemoModel, "--prompts", prompts, "-o",
                                          out};
  expect_failure(carve, 2, {"too long", "prompts.txt:3"});
  write_bytes(prompts, "\n \n");
  expect_failure(carve, 2, {"no prompts", "prompts.txt"});
  expect_failure({"carve", testing::kDemoModel, "-o", out}, 2, {"--prompt", "--prompts"});
  expect_failure({"carve", testing::kDemoModel, "--prompt", "x", "--inputs", prompts, "-o", out}, 2,
                 {"--inputs", "a text module"});
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(BadSuite, UnknownKernelAndTarget) {
  expect_failure({"replay", suite_, "--kernel", "frobnicate"}, 2,
                 {"--kernel", "frobnicate", "one of", "rms_norm_"});
  expect_failure({"replay", suite_, "--target", "abacus"}, 2, {"abacus"});
}

// A stored suite with an altered group: the fault, the file and the position in it.
class BadGroup : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(std::string(TAPML_SOURCE_DIR) + "/tests/golden/suites/groups", suite_,
                          std::filesystem::copy_options::recursive);
    json_ = read_bytes(file_);
  }
  void altered(const std::string& from, const std::string& to,
               const std::vector<std::string>& parts) {
    SCOPED_TRACE(from + " -> " + to);
    const size_t at = json_.find(from, json_.find("\"groups\""));
    ASSERT_NE(at, std::string::npos);
    write_bytes(file_, std::string(json_).replace(at, from.size(), to));
    expect_failure({"replay", suite_, "--target", "cpu"}, 2, parts);
    // Faults of the index alone, or only in combination with kernels and tensors.
    const bool readable = topdown::parse_suite_index(read_bytes(file_), "suite.json").has_value();
    expect_fault({"suite", "verify", suite_}, parts, readable);
  }

  TempFolder folder_;
  const std::string suite_ = folder_ / "suite", file_ = suite_ + "/suite.json";
  std::string json_;
};

TEST_F(BadGroup, UnknownCallsAndParameters) {
  const std::string from = "\"from\": [0, 1";
  altered(from, "\"from\": [7, 1", {"suite.json:", "a call that it does not have", "0 to 1", "7"});
  altered(from, "\"from\": [0, 2",
          {"suite.json:", "a parameter that its kernel does not have", "softmax_", "2"});
  altered("\"kernel\": 1", "\"kernel\": 2", {"suite.json:", "kernel of the suite"});
  altered("\"at\": [", "\"at\": [0.5, ", {"suite.json:", "[call, parameter]"});
}

TEST_F(BadGroup, LinksThatRunBackwards) {
  altered("\"from\": [0, 1", "\"from\": [1, 2", {"suite.json:", "runs backwards", "from call 1"});
}

TEST_F(BadGroup, TensorsOfOtherShapes) {
  // The matrix in place of the group's input tensor.
  const size_t groups = json_.find("\"groups\"");
  const size_t before = json_.find("\"before\"", json_.find("\"before\"", groups) + 1);
  const size_t matrix = json_.find_first_of("0123456789abcdef", json_.find(',', before));
  const size_t input = json_.find("\"tensor\": \"", groups) + 11;
  altered(json_.substr(input, 64), json_.substr(matrix, 64),
          {"suite.json", "softmax_", "f32[3, 8]", "f32[8, 4]"});
}

TEST_F(BadGroup, NumbersOfGroups) {
  expect_failure({"replay", suite_, "--group", "1"}, 2, {"no such group", "0 to 0", "1"});
  expect_failure({"replay", suite_, "--group", "-1"}, 2, {"--group"});
  expect_failure({"replay", suite_, "--kernel", "matmul_e629c9b9"}, 2,
                 {"no test of kernel matmul_e629c9b9", "--group 0"});
  expect_failure({"replay", suite_, "--kernel", "matmul_e629c9b9", "--group", "0"}, 2, {"--group"});
}

}  // namespace
}  // namespace tapml
