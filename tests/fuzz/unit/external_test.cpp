// Other compilers: programs as documents, and a campaign against one with a planted fault.
#include <gtest/gtest.h>

#include "fuzz/external/adapters.h"
#include "fuzz/external/external_campaign.h"
#include "io/host/files.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "text/parser.h"

namespace tapml::fuzz {
namespace {

using testing::expect_user_error;
using testing::TempFolder;

// A "compiler" that evaluates with NumPy; in its form "optimized" the order of a subtraction is
// lost.
constexpr const char* kNumPy = R"python(
import numpy as np
from source import Inexpressible, inputs_text, require

FORMS = ["plain", "optimized"]
CALLS = {"add": "np.add", "subtract": "subtract", "multiply": "np.multiply", "negative": "np.negative",
         "abs": "np.abs", "maximum": "np.maximum", "minimum": "np.minimum", "square": "np.square", "floor": "np.floor",
         "equal": "np.equal", "less": "np.less", "where": "np.where",
         "sign": "np.sign", "copy": "np.copy", "bitwise_and": "np.bitwise_and", "bitwise_or": "np.bitwise_or"}

def version():
    return "NumPy " + np.__version__

def source(program):
    lines = ["import numpy as np", 'FORMS = ["plain", "optimized"]', "VERSION = lambda: np.__version__"]
    lines += inputs_text(program)
    lines += ["def run(form):", "    subtract = (lambda a, b: b - a) if form == 'optimized' else np.subtract",
              "    values = inputs()"]
    for step in program.calls():
        if step["op"] not in CALLS:
            raise Inexpressible("no such function")
        names = []
        for arg in step["args"]:
            require("name" in arg and arg.get("name"), "an argument that is no variable")
            require(program.dtype(arg) not in ("bool", "f16", "bf16"), "another dtype")
            names.append('values["' + arg["name"] + '"]')
        lines.append('    values["%s"] = %s(%s)' % (step["name"], CALLS[step["op"]], ", ".join(names)))
    lines.append("    return [" + ", ".join('values["%s"]' % name for name in program.outputs) + "]")
    return "\n".join(lines) + "\n"
)python";

Program small_program() {
  Program program;
  program.module = text::parse(R"(module
def main(x: Tensor((n, 2), f32)) -> Tuple(Tensor((n, 2), f32), Tensor((n, 1), f32)) {
  dataflow {
    a: Tensor((n, 2), f32) = exp(x)
    s: Tuple(Tensor((n, 1), f32), Tensor((n, 1), f32)) = split(a) {axis: 1, sections: 2}
    f: Tensor((n, 1), f32) = s[0]
    b: Tensor((n, 2), f32) = add(a, const(f32, (2,), [1.0, 2.0]))
    r: Tuple(Tensor((n, 2), f32), Tensor((n, 1), f32)) = (b, f)
    output r
  }
  return r
})",
                               "test");
  const std::vector<float> values = {0, 0, 0, 0, 0, 0};
  program.arguments = {interp::Value::tensor(
      op::RefTensor::from(HostTensor::from<float>(DType::kF32, {3, 2}, std::span(values))))};
  return program;
}

const std::string& text_of(const Json& json, const char* key) {
  return json.find(key)->as_string();
}

TEST(StraightLine, ListsCallsWithValues) {
  const StraightLine line = straight_line(small_program());
  const std::vector<Json>& steps = line.document.find("steps")->items();
  ASSERT_EQ(steps.size(), 4);
  EXPECT_EQ(text_of(steps[0], "op"), "exp");
  const HostTensor ones = tensor_from_json(steps[0]);
  EXPECT_EQ(ones.shape(), (Shape{3, 2}));
  EXPECT_EQ(ones.values<float>()[5], 1);
  EXPECT_EQ(text_of(steps[2], "of"), "s");
  EXPECT_EQ(steps[2].find("field")->as_integer(), 0);
  ASSERT_EQ(line.expected.size(), 2);
  EXPECT_EQ(line.expected[0].values[1], 3);
  EXPECT_EQ(line.document.find("outputs")->items()[1].as_string(), "f");
}

TEST(StraightLine, CutStepsBecomeInputs) {
  const StraightLine line = straight_line(small_program(), {"a"});
  const std::vector<Json>& inputs = line.document.find("inputs")->items();
  ASSERT_EQ(inputs.size(), 2);
  EXPECT_EQ(text_of(inputs[1], "name"), "a");
  EXPECT_EQ(tensor_from_json(inputs[1]).values<float>()[0], 1);
  // A split whose fields are inputs; the result that is no computed tensor any more is gone.
  const StraightLine fields = straight_line(small_program(), {"s"});
  EXPECT_EQ(fields.document.find("outputs")->items().size(), 1);
  EXPECT_EQ(fields.expected.size(), 1);
  expect_user_error([] { straight_line(small_program(), {"a", "s", "b"}); },
                    {"no results are left"});
}

TEST(StraightLine, RefusesTensorsThatAreNone) {
  expect_user_error([] { tensor_from_json(Json::object({{"dtype", Json::string("f32")}})); },
                    {"this is no tensor"});
  const Json wrong = Json::object({{"dtype", Json::string("f32")},
                                   {"shape", Json::array({Json::integer(2)})},
                                   {"hex", Json::string("00")}});
  expect_user_error([&] { tensor_from_json(wrong); }, {"this is no tensor"});
}

TEST(ExternalCampaign, FindsAndReducesAPlantedFault) {
  TempFolder folder;
  ExternalOptions options;
  options.adapter.adapter = {"numpy", "pip install numpy", kNumPy};
  options.seed = 1;
  // What a seed draws changes with every operator that is added, so the campaign goes on until it
  // finds something.
  options.tests = 10'000;
  options.seconds = 120;
  bool is_found = false;
  options.found = [&](const ExternalFinding&) { is_found = true; };
  options.cancelled = [&] { return is_found; };
  options.folder = folder.path();
  options.generate = {.operators = 10, .language = 0};
  const ExternalResult result = run_external(options);
  for (const ExternalFinding& found : result.findings) SCOPED_TRACE(found.signature);
  EXPECT_LT(result.tests, options.tests);
  EXPECT_TRUE(result.compiler.starts_with("NumPy"));
  EXPECT_GT(result.ran, 0);  // with one of the few operators that it has
  EXPECT_FALSE(result.inexpressible.empty());
  ASSERT_EQ(result.findings.size(), 1);
  const ExternalFinding& finding = result.findings.front();
  EXPECT_EQ(finding.kind, "values");
  EXPECT_EQ(finding.form, "optimized");
  // A difference that the reference has no bound for may need an operator after it.
  EXPECT_LE(finding.operators, 2);
  EXPECT_TRUE(finding.signature.ends_with("subtract")) << finding.signature;
  const std::string script = unwrap(read_text_file(finding.folder + "/reproduce.py"));
  EXPECT_NE(script.find("EXPECTED = ["), std::string::npos);
}

// A form that fails refuses the program, unless the adapter says that it may.
TEST(ExternalCampaign, FormsThatMayRefuseGoOn) {
  const std::string refuses = std::string(kNumPy) + R"python(
write = source

def source(program):
    return write(program) + "allowed = run\ndef run(form):\n    return allowed(form) if form == 'plain' else 1 // 0\n"
)python";
  TempFolder folder;
  ExternalOptions options;
  options.adapter.adapter = {"numpy", "pip install numpy", refuses};
  options.seed = 1;
  options.tests = 60;
  options.reduce_seconds = 5;
  options.folder = folder.path() + "/strict";
  options.generate = {.operators = 10, .language = 0};
  const ExternalResult strict = run_external(options);
  ASSERT_FALSE(strict.findings.empty());
  EXPECT_EQ(strict.findings.front().kind, "refusal");
  EXPECT_NE(strict.findings.front().message.find("ZeroDivisionError"), std::string::npos);
  const std::string may = refuses + "\nMAY_REFUSE = ['optimized']\n";
  options.adapter.adapter.program = may;
  options.folder = folder.path() + "/may";
  const ExternalResult lenient = run_external(options);
  EXPECT_EQ(lenient.findings.size(), 0);
  EXPECT_EQ(lenient.ran, strict.ran);
}

// Whatever the generator draws, an adapter writes Python or says why not; it needs no compiler for
// that.
TEST(Adapters, WriteEveryProgram) {
  for (const Adapter& adapter : adapters()) {
    SCOPED_TRACE(adapter.name);
    const std::string writes = std::string(adapter.program) + R"python(
write = source

def version():
    return "none"

def source(program):
    compile(write(program), "program", "exec")
    return "def run(form):\n    raise RuntimeError('written')\n"
)python";
    TempFolder folder;
    ExternalOptions options;
    options.adapter.adapter = {adapter.name, adapter.install, writes};
    options.seed = 3;
    options.tests = 200;
    options.folder = folder.path();
    options.generate = {.operators = 10, .language = 0};
    const ExternalResult result = run_external(options);
    int64_t written = 0;
    for (const auto& [reason, count] : result.inexpressible) {
      EXPECT_EQ(reason.find("the adapter fails"), std::string::npos) << reason;
      if (reason.ends_with("refused (RuntimeError: written)")) written += count;
    }
    EXPECT_GT(written, result.steps / 4) << "of " << result.steps;
  }
}

TEST(ExternalCampaign, SaysWhatToInstall) {
  TempFolder folder;
  ExternalOptions options;
  options.adapter.adapter = {"nothing", "pip install nothing-at-all",
                             "def version():\n    import nothing_at_all\n"};
  options.folder = folder.path();
  expect_user_error([&] { run_external(options); },
                    {"nothing is not installed", "pip install nothing-at-all"});
  options.adapter.python = "no-such-python";
  expect_user_error([&] { run_external(options); }, {"cannot start", "--python"});
}

}  // namespace
}  // namespace tapml::fuzz
