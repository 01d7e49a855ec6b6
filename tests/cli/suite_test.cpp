// `tapml carve` of a text module, and `tapml suite` on the result.
#include "topdown/suite/suite.h"

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramResult;
using testing::read_bytes;
using testing::run_program;
using testing::TempFolder;
using testing::write_bytes;

const char* const kSoftmaxAndRoots = R"(module
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32)) -> Tensor((n, 4), f32) {
  a: Tensor((n, 4), f32) = matmul(x, w)
  b: Tensor((n, 4), f32) = softmax(a) {axis: -1}
  return b
}
def roots(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  r: Tensor((n, 8), f32) = sqrt(x)
  return r
}
)";

HostTensor numbers(const Shape& shape, double scale, double shift = 0) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, shift + scale * static_cast<double>(i * 7 % 11 - 5));
  }
  return tensor;
}

class SuiteCommand : public ::testing::Test {
 protected:
  void SetUp() override { write_bytes(module_, kSoftmaxAndRoots); }

  std::string file(const std::string& name,
                   const std::map<std::string, HostTensor>& tensors) const {
    const std::vector<std::byte> bytes = write_safetensors(tensors);
    write_bytes(folder_ / name,
                std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return folder_ / name;
  }
  std::string inputs(int64_t n, double scale) const {
    return file("in" + std::to_string(n) + "_" + std::to_string(scale) + ".safetensors",
                {{"x", numbers({n, 8}, scale)}, {"w", numbers({8, 4}, 0.1)}});
  }
  Json carve(const std::string& suite, std::vector<std::string> more, int code = 0) {
    std::vector<std::string> args = {"carve", module_, "-o", folder_ / suite, "--json"};
    args.insert(args.end(), more.begin(), more.end());
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, code) << result.all();
    return result.json();
  }
  Json suite(std::vector<std::string> args) {
    args.insert(args.begin(), "suite");
    args.emplace_back("--json");
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    return result.json();
  }
  void passes(const std::string& suite) const {
    ProgramResult result = run_program({"replay", folder_ / suite});
    EXPECT_EQ(result.exit_code, 0) << result.all();
  }
  static int64_t number(const Json& json, const char* key) { return json.find(key)->as_integer(); }

  TempFolder folder_;
  const std::string module_ = folder_ / "module.txt";
};

TEST_F(SuiteCommand, AModuleIsCarvedCallByCall) {
  Json carved = carve("s", {"--inputs", inputs(2, 1), "--inputs", inputs(5, 1), "--inputs",
                            inputs(2, 1), "--function", "main"});
  EXPECT_EQ(number(carved, "kernels"), 2);
  EXPECT_EQ(number(carved, "calls"), 4) << "the third call is the first again";
  EXPECT_TRUE(carved.find("nan")->is_null());
  passes("s");
  Json listed = suite({"ls", folder_ / "s"});
  ASSERT_EQ(listed.find("kernels")->items().size(), 2u);
  for (const Json& kernel : listed.find("kernels")->items()) {
    EXPECT_EQ(number(kernel, "tests"), 2);
    EXPECT_EQ(number(kernel, "calls"), 3);
    EXPECT_EQ(number(kernel, "dropped"), 0);
  }
  const std::string name = listed.find("kernels")->items()[0].find("kernel")->as_string();
  EXPECT_EQ(name.substr(0, 7), "matmul_");
  Json shown = suite({"show", folder_ / "s", name});
  EXPECT_NE(shown.find("spec")->as_string().find("def " + name), std::string::npos);
  const Json& call = shown.find("calls")->items()[0];
  EXPECT_EQ(number(call, "times"), 2);
  ASSERT_EQ(call.find("tensors")->items().size(), 3u);
  const Json& x = call.find("tensors")->items()[0];
  EXPECT_EQ(x.find("least")->as_double(), -5);
  EXPECT_EQ(x.find("largest")->as_double(), 5);
  EXPECT_EQ(x.find("hash")->as_string(), content_hash(numbers({2, 8}, 1)));
  Json verified = suite({"verify", folder_ / "s"});
  EXPECT_EQ(number(verified, "tensors"), number(carved, "tensors"));
  // The table shows the same.
  ProgramResult table = run_program({"suite", "ls", folder_ / "s"});
  EXPECT_NE(table.out.find(name), std::string::npos) << table.all();
  ProgramResult text = run_program({"suite", "show", folder_ / "s", name});
  EXPECT_NE(text.out.find("-5 to 5"), std::string::npos) << text.all();
}

TEST_F(SuiteCommand, MergePruneAndExport) {
  carve("a", {"--inputs", inputs(2, 1), "--function", "main"});
  carve("b", {"--inputs", inputs(2, 1), "--inputs", inputs(3, 1), "--function", "main"});
  Json merged = suite({"merge", folder_ / "a", folder_ / "b", "-o", folder_ / "both"});
  EXPECT_EQ(number(merged, "calls"), 4);
  EXPECT_EQ(number(merged, "kernels"), 2);
  passes("both");
  Json listed = suite({"ls", folder_ / "both"});
  const std::string name = listed.find("kernels")->items()[1].find("kernel")->as_string();
  EXPECT_EQ(number(listed.find("kernels")->items()[1], "calls"), 3);

  Json pruned = suite({"prune", folder_ / "both", "--kernel", name, "-o", folder_ / "one"});
  EXPECT_EQ(number(pruned, "kernels"), 1);
  EXPECT_EQ(number(pruned, "calls"), 2);
  passes("one");
  EXPECT_EQ(testing::names_under(folder_ / "one/tensors").size(),
            static_cast<size_t>(number(pruned, "tensors")));
  // In place: files that no call uses are removed.
  pruned = suite({"prune", folder_ / "both", "--budget", "1"});
  EXPECT_EQ(number(pruned, "calls"), 2) << "one of every kernel stays";
  EXPECT_EQ(number(pruned, "dropped"), 2);
  EXPECT_EQ(testing::names_under(folder_ / "both/tensors").size(),
            static_cast<size_t>(number(pruned, "tensors")));
  passes("both");

  Json exported = suite({"export", folder_ / "one", "--npz", "-o", folder_ / "npz"});
  ASSERT_EQ(exported.find("files")->items().size(), 2u);
  const std::string archive = read_bytes(exported.find("files")->items()[0].as_string());
  EXPECT_EQ(archive.substr(0, 4), "PK\x03\x04");
  for (const char* entry : {"before.x.npy", "after.out.npy", "scalars.npy", "NUMPY"}) {
    EXPECT_NE(archive.find(entry), std::string::npos) << entry;
  }
}

TEST_F(SuiteCommand, ABudgetKeepsDistinctInputs) {
  // Three sizes, each with values of one scale, and one of them also with another scale.
  std::vector<std::string> args = {"--function", "roots"};
  for (int64_t n : {64, 65, 66, 16}) {
    args.emplace_back("--inputs");
    args.push_back(file("r" + std::to_string(n), {{"x", numbers({n, 8}, 1, 6)}}));
  }
  args.emplace_back("--inputs");
  args.push_back(file("large", {{"x", numbers({64, 8}, 1e6, 6e6)}}));
  args.insert(args.end(), {"--budget", "10000"});
  Json carved = carve("s", args);
  EXPECT_LE(number(carved, "bytes"), 10000);
  EXPECT_EQ(number(carved, "dropped"), 2);
  Json listed = suite({"ls", folder_ / "s"});
  const Json& kernel = listed.find("kernels")->items()[0];
  EXPECT_EQ(number(kernel, "dropped"), 2);
  Json shown = suite({"show", folder_ / "s", kernel.find("kernel")->as_string()});
  std::set<int64_t> rows;
  double largest = 0;
  for (const Json& call : shown.find("calls")->items()) {
    rows.insert(call.find("scalars")->items()[0].as_integer());
    largest = std::max(largest, call.find("tensors")->items()[0].find("largest")->as_double());
  }
  EXPECT_TRUE(rows.contains(16)) << "of another size";
  EXPECT_GT(largest, 1e6) << "of another magnitude";
  EXPECT_EQ(testing::names_under(folder_ / "s/tensors").size(),
            static_cast<size_t>(number(carved, "tensors")));
  passes("s");
}

TEST_F(SuiteCommand, ReportsNaNOfTheSource) {
  Json carved =
      carve("s", {"--function", "roots", "--inputs", file("r", {{"x", numbers({2, 8}, 1)}})}, 1);
  const Json& nan = *carved.find("nan");
  EXPECT_EQ(nan.find("kernel")->as_string().substr(0, 5), "sqrt_");
  EXPECT_TRUE(nan.find("inputs_with_nan")->items().empty());
  HostTensor bad = numbers({2, 8}, 1, 6);
  bad.set_f64(3, std::numeric_limits<double>::quiet_NaN());
  ProgramResult result = run_program({"carve", module_, "-o", folder_ / "t", "--function", "roots",
                                      "--inputs", file("nan", {{"x", bad}})});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_NE(result.out.find("NaN in the source's own run: sqrt_"), std::string::npos)
      << result.all();
  EXPECT_NE(result.out.find("from NaN in its input"), std::string::npos) << result.all();
  passes("s");
}

TEST_F(SuiteCommand, AnEmptyReplayDoesNotPass) {
  carve("s", {"--inputs", inputs(2, 1), "--function", "main"});
  topdown::Suite suite = unwrap(topdown::load_suite(folder_ / "s"));
  ASSERT_EQ(suite.kernels.size(), 2u);
  std::erase_if(suite.calls, [](const topdown::SuiteCall& call) { return call.kernel == 1; });
  unwrap(topdown::save_suite(suite, folder_ / "one"));
  ProgramResult result = run_program({"replay", folder_ / "one", "--target", "cpu"});
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_NE(result.out.find("\n" + suite.kernels[1].name + " "), std::string::npos) << result.all();
  EXPECT_EQ(result.last_line(), "NOT PROVEN 1 of 2 kernels, 1 call, 1 untested");
  // Only this kernel is requested.
  result = run_program({"replay", folder_ / "one", "--kernel", suite.kernels[0].name});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(result.last_line(), "PASS 1 of 1 kernel, 1 call");
  expect_failure({"replay", folder_ / "one", "--kernel", suite.kernels[1].name}, 2,
                 {"no test of kernel " + suite.kernels[1].name});
  suite.calls.clear();
  unwrap(topdown::save_suite(suite, folder_ / "none"));
  expect_failure({"replay", folder_ / "none"}, 2, {"the suite has no tests"});
}

// The VM rejects the second input: the message is printed first, then what is not proven.
TEST_F(SuiteCommand, ASuiteOfAFailedRunIsMarked) {
  const std::string part = folder_ / "part";
  const ProgramResult carved =
      run_program({"carve", module_, "-o", part, "--function", "main", "--inputs", inputs(2, 1),
                   "--inputs", file("w", {{"x", numbers({2, 7}, 1)}, {"w", numbers({8, 4}, 1)}})});
  EXPECT_EQ(carved.exit_code, 2) << carved.all();
  EXPECT_NE(carved.err.find("contains only a part of the suite"), std::string::npos)
      << carved.all();
  const Json listed = suite({"ls", part});
  EXPECT_FALSE(listed.find("complete")->as_bool());
  const std::string reason = listed.find("reason")->as_string();
  EXPECT_FALSE(reason.empty());
  const std::string name = listed.find("kernels")->items()[0].find("kernel")->as_string();
  carve("whole", {"--inputs", inputs(3, 1), "--function", "main"});
  EXPECT_TRUE(suite({"ls", folder_ / "whole"}).find("complete")->as_bool());
  const std::string first = "the suite is incomplete: ";
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"suite", "ls", part},
        {"suite", "show", part, name},
        {"suite", "merge", folder_ / "whole", part, "-o", folder_ / "both"},
        {"suite", "export", part, "--npz", "-o", folder_ / "npz"},
        {"suite", "verify", part},
        {"replay", part},
        {"replay", folder_ / "both"}}) {
    const ProgramResult result = run_program(args);
    EXPECT_TRUE(result.out.starts_with(first)) << result.all();
    EXPECT_NE(result.out.find(reason), std::string::npos) << result.all();
    const bool validates = args[0] == "replay" || args[1] == "verify";
    EXPECT_EQ(result.exit_code, validates ? 1 : 0) << result.all();
    if (!validates) continue;
    EXPECT_TRUE(result.last_line().starts_with("NOT PROVEN 2 ")) << result.all();
    EXPECT_TRUE(result.last_line().ends_with(", the suite incomplete")) << result.all();
  }
  const ProgramResult replayed = run_program({"replay", part, "--json"});
  EXPECT_EQ(replayed.exit_code, 1) << replayed.all();
  const Json json = replayed.json();
  EXPECT_EQ(json.find("verdict")->as_string(), "NOT PROVEN");
  EXPECT_FALSE(json.find("passed")->as_bool());
  EXPECT_EQ(json.find("incomplete")->as_string(), reason);
  for (const Json& kernel : json.find("kernels")->items()) {
    EXPECT_TRUE(kernel.find("passed")->as_bool());
  }
}

// A function with a branch: kernels of the branch not taken are untested.
TEST_F(SuiteCommand, KernelsThatTheRunDidNotReachAreUntested) {
  write_bytes(module_, R"(module
def main(x: Tensor((n, 8), f32), up: Tensor((), bool)) -> Tensor((n, 8), f32) {
  r: Tensor((n, 8), f32) = if (up) {
    a: Tensor((n, 8), f32) = exp(x)
    yield a
  } else {
    b: Tensor((n, 8), f32) = sqrt(x)
    yield b
  }
  return r
}
)");
  auto chosen = [&](const char* name, bool up) {
    HostTensor flag = HostTensor::zeros(DType::kBool, {});
    flag.set_f64(0, up ? 1 : 0);
    return file(name, {{"x", numbers({2, 8}, 1, 6)}, {"up", flag}});
  };
  const std::string one = chosen("one", true), other = chosen("other", false);
  const Json carved = carve("s", {"--inputs", one});
  ASSERT_EQ(carved.find("untested")->items().size(), 1u);
  const std::string kernel = carved.find("untested")->items()[0].find("kernel")->as_string();
  EXPECT_TRUE(kernel.starts_with("sqrt_")) << kernel;
  EXPECT_TRUE(carved.find("complete")->as_bool());
  const ProgramResult replayed = run_program({"replay", folder_ / "s"});
  EXPECT_EQ(replayed.exit_code, 1) << replayed.all();
  EXPECT_EQ(replayed.last_line(), "NOT PROVEN 1 of 2 kernels, 1 call, 1 untested");
  EXPECT_NE(replayed.out.find("\n" + kernel + " "), std::string::npos) << replayed.all();
  // A second run that takes the branch makes a merged suite complete.
  carve("t", {"--inputs", other});
  suite({"merge", folder_ / "s", folder_ / "t", "-o", folder_ / "both"});
  passes("both");
}

TEST_F(SuiteCommand, BadInputs) {
  const std::string out = folder_ / "s", good = inputs(2, 1);
  auto refused = [&](std::vector<std::string> args, const std::vector<std::string>& parts) {
    args.insert(args.begin(), {"carve", module_, "-o", out});
    expect_failure(args, 2, parts);
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refused({"--function", "main"}, {"--inputs"});
  refused({"--inputs", good, "--function", "mian"}, {"--function", "main, roots", "mian"});
  refused({"--inputs", folder_ / "none", "--function", "main"}, {"none", "does not exist"});
  refused({"--inputs", module_, "--function", "main"}, {"module.txt"});
  refused({"--inputs", file("x", {{"x", numbers({2, 8}, 1)}}), "--function", "main"},
          {"lack parameter w of main", "x, w"});
  refused({"--inputs", good, "--function", "roots"}, {"no parameter of roots", "x"});
  refused({"--inputs", good, "--function", "main", "--prompt", "a"},
          {"--prompt", "a model directory"});
  refused({"--inputs", good, "--function", "main", "--budget", "much"}, {"--budget", "much"});
  // A run that the VM ends with an error leaves a suite of the calls before it.
  expect_failure({"carve", module_, "-o", out, "--function", "main", "--inputs", good, "--inputs",
                  file("w", {{"x", numbers({2, 7}, 1)}, {"w", numbers({8, 4}, 1)}})},
                 2, {"x"});
  const ProgramResult verified = run_program({"suite", "verify", out, "--json"});
  EXPECT_EQ(verified.exit_code, 1) << verified.all();
  EXPECT_EQ(number(verified.json(), "calls"), 2);
  EXPECT_EQ(verified.json().find("verdict")->as_string(), "NOT PROVEN");
  EXPECT_FALSE(verified.json().find("complete")->as_bool());
}

// Values that a module computes from its weights alone are computed at load, as for models.
TEST_F(SuiteCommand, AModuleWithWeightsIsCarved) {
  const std::string module = folder_ / "weights.txt";
  write_bytes(module,
              "module {model.weights: [\"w\"]}\n"
              "def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) "
              "-> Tensor((n, 4), f32) {\n  dataflow {\n"
              "    t: Tensor((4, 4), f32) = permute(w) {axes: [1, 0]}\n"
              "    e: Tensor((4, 4), f32) = exp(t)\n"
              "    y: Tensor((n, 4), f32) = matmul(x, e)\n"
              "    output y\n  }\n  return y\n}\n");
  const std::string inputs = file("xw", {{"x", numbers({3, 4}, 1)}, {"w", numbers({4, 4}, 2)}});
  ProgramResult carved = run_program({"carve", module, "-o", folder_ / "s", "--inputs", inputs});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  ProgramResult replayed = run_program({"replay", folder_ / "s", "--target", "cpu"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
  // The product reads the prepared form of w: it is compared with the suite's own reference.
  topdown::Suite suite = unwrap(topdown::load_suite(folder_ / "s"));
  EXPECT_FALSE(suite.calls.empty());
  expect_failure(
      {"carve", module, "-o", folder_ / "t", "--inputs", file("x", {{"x", numbers({3, 4}, 1)}})}, 2,
      {"lack parameter w"});
}

TEST_F(SuiteCommand, RefusesToMergeUnrelatedSuites) {
  carve("a", {"--inputs", inputs(2, 1), "--function", "main"});
  carve("b", {"--inputs", inputs(2, 1), "--function", "main"});
  testing::replace_in(folder_ / "b/suite.json", "\"fusion_policy\": \"", "\"fusion_policy\": \"x");
  const std::vector<std::string> merge = {"suite",       "merge", folder_ / "a",
                                          folder_ / "b", "-o",    folder_ / "c"};
  expect_failure(merge, 2, {"another fusion policy", "b"});
  carve("b", {"--inputs", inputs(2, 1), "--function", "main", "--target", "cpu:threads=1"});
  expect_failure(merge, 2, {"another source", "cpu:threads=1"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c"));
  expect_failure({"suite", "show", folder_ / "a", "gone"}, 2, {"gone", "one of", "matmul_"});
  expect_failure({"suite", "prune", folder_ / "a"}, 2, {"--kernel NAME"});
  expect_failure({"suite", "export", folder_ / "a", "-o", folder_ / "c"}, 2, {"--npz"});
  expect_failure({"suite", "ls", folder_ / "nothing"}, 2, {"nothing"});
}

TEST_F(SuiteCommand, VerifyReportsEveryError) {
  carve("a", {"--inputs", inputs(2, 1), "--inputs", inputs(3, 1), "--function", "main"});
  const std::string tensors = folder_ / "a/tensors/";
  const std::string altered = *testing::names_under(tensors).begin();
  const std::string missing = *testing::names_under(tensors).rbegin();
  std::string bytes = read_bytes(tensors + altered);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(tensors + altered, bytes);
  const auto faulty = [&](const std::vector<std::string>& parts) {
    const ProgramResult text = run_program({"suite", "verify", folder_ / "a"});
    EXPECT_EQ(text.exit_code, 1) << text.all();
    const ProgramResult json = run_program({"suite", "verify", folder_ / "a", "--json"});
    EXPECT_EQ(json.exit_code, 1) << json.all();
    EXPECT_EQ(json.json().find("verdict")->as_string(), "FAIL");
    EXPECT_EQ(json.err, text.last_line() + "\n");
    for (const std::string& part : parts) {
      EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.all();
      EXPECT_NE(json.all().find(part), std::string::npos) << part << "\n" << json.all();
    }
    return std::ssize(json.json().find("faults")->items());
  };
  EXPECT_EQ(faulty({"altered", altered, "1 fault"}), 1);
  std::filesystem::remove(tensors + missing);
  EXPECT_EQ(faulty({"2 faults", "altered", altered, missing, "does not exist"}), 2);
  EXPECT_EQ(run_program({"suite", "ls", folder_ / "a"}).exit_code, 0);
}

}  // namespace
}  // namespace tapml
