// `tapml migrate` on the demo model: a correct target, injected faults, an interruption.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::strings;
using testing::TempFolder;

std::vector<std::string> migrate(const std::string& prompt, const std::string& tokens,
                                 const std::string& to = "opencl") {
  return {"migrate", kDemoModel, "--from", "cpu",          "--to",
          to,        "--prompt", prompt,   "--max-tokens", tokens};
}

std::vector<std::string> with(std::vector<std::string> args,
                              std::initializer_list<std::string> more) {
  args.insert(args.end(), more);
  return args;
}

struct CleanCase {
  const char* target;
  const char* prompt;
};

void PrintTo(const CleanCase& clean, std::ostream* out) { *out << clean.target; }

class MigrateClean : public ::testing::TestWithParam<CleanCase> {};

TEST_P(MigrateClean, ReportsNoCulprit) {
  const CleanCase& clean = GetParam();
  ProgramResult result = run_program(with(migrate(clean.prompt, "40", clean.target), {"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  Json json = result.json();
  EXPECT_TRUE(result.err.starts_with("PASS ")) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "one line: " << result.err;
  EXPECT_EQ(json.find("verdict")->as_string(), "PASS");
  EXPECT_TRUE(json.find("untested")->items().empty());
  EXPECT_TRUE(json.find("passed")->as_bool());
  EXPECT_TRUE(json.find("culprits")->items().empty());
  EXPECT_TRUE(json.find("target_ran_alone")->as_bool());
  EXPECT_TRUE(json.find("whole_model")->find("passed")->as_bool());
  if (!json.find("tie")->as_bool()) {
    EXPECT_EQ(json.find("first_divergence")->as_integer(), -1);
    EXPECT_EQ(integers(json.find("source_tokens")), integers(json.find("target_tokens")));
    EXPECT_EQ(json.find("source_text")->as_string(), json.find("target_text")->as_string());
  }
  int64_t before = 0;
  for (const Json& step : json.find("kernels")->items()) {
    const std::string& name = step.find("kernel")->as_string();
    EXPECT_EQ(step.find("outcome")->as_string(), "migrated") << name;
    EXPECT_FALSE(step.find("source_wrong")->as_bool()) << name;
    EXPECT_TRUE(step.find("hybrid")->find("passed")->as_bool()) << name;
    // Each hybrid offloads more calls than the one before it. Sampling is not part of a hybrid.
    const int64_t dispatched = step.find("dispatched")->as_integer();
    if (name.starts_with("argmax")) {
      EXPECT_EQ(dispatched, before);
    } else {
      EXPECT_GT(dispatched, before) << name;
    }
    before = dispatched;
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, MigrateClean,
                         ::testing::Values(CleanCase{"opencl", "Moses said to the people,"},
                                           CleanCase{"opencl", "Emma was"},
                                           CleanCase{"opencl", "In the beginning"},
                                           CleanCase{"opencl", "“I am very glad"},
                                           CleanCase{"vulkan", "Moses said to the people,"},
                                           CleanCase{"wasm", "And the king answered,"}),
                         [](const auto& info) {
                           return std::string(info.param.target) + "_prompt" +
                                  std::to_string(info.index);
                         });

TEST(Migrate, WritesItsReport) {
  TempFolder folder;
  ProgramResult result =
      run_program(with(migrate("Emma was", "8"), {"--report", folder / "deep/report"}));
  ASSERT_EQ(result.exit_code, 0) << result.all();
  EXPECT_EQ(testing::names_under(folder / "deep/report"),
            (std::set<std::string>{"report.html", "report.json"}));
  EXPECT_NE(result.out.find("identical token for token (8 tokens)"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("report: " + (folder / "deep/report/report.html")), std::string::npos);
  // Piped: one plain line per phase.
  EXPECT_NE(result.err.find("compile for opencl: done ("), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\r'), std::string::npos) << result.err;
  auto json = parse_json(testing::read_bytes(folder / "deep/report/report.json"), "report.json");
  ASSERT_TRUE(json) << json.error().to_string();
  const std::string page = testing::read_bytes(folder / "deep/report/report.html");
  for (const Json& step : json->find("kernels")->items()) {
    const std::string& name = step.find("kernel")->as_string();
    EXPECT_NE(page.find(name), std::string::npos) << name;
    EXPECT_NE(result.out.find(name), std::string::npos) << name;
  }
  for (const char* part : {"Code of the kernels", "__kernel void", "Tokens and their margins"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(json->find("margins")->items().size(),
            static_cast<size_t>(json->find("whole_model")->find("positions")->as_integer()));
  // Self-contained: nothing is fetched.
  for (const char* fetch : {"http://", "https://", " src=", "<link"}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
}

// One kernel of every family, with one fault kind each: it is found, and no other kernel is blamed.
struct Fault {
  const char* kind;
  const char* operators;  // of the kernel's name
  const char* layer;      // that the report must name
  bool decode;            // of a decode step, otherwise of the prefill
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.kind; }

class MigrateWithFault : public ::testing::TestWithParam<Fault> {
 protected:
  // The name of the wanted kernel in a clean migration, which all cases share.
  static std::string kernel_of(const Fault& fault) {
    static const Json kClean = run_program(with(migrate("Emma was", "4"), {"--json"})).json();
    for (const Json& step : kClean.find("kernels")->items()) {
      const std::string& name = step.find("kernel")->as_string();
      if (name.substr(0, name.rfind('_')) != fault.operators) continue;
      bool one_row = true;  // of each text
      for (const std::string& shape : strings(step.find("shapes"))) {
        one_row &= shape.substr(shape.find(',')).starts_with(", 1,");
      }
      if (one_row != fault.decode) continue;
      for (const std::string& layer : strings(step.find("layers"))) {
        if (layer.find(fault.layer) != std::string::npos) return name;
      }
    }
    ADD_FAILURE() << "no kernel " << fault.operators;
    return "";
  }
};

TEST_P(MigrateWithFault, OnlyTheFaultyKernelIsReported) {
  const std::string kernel = kernel_of(GetParam());
  ProgramResult result = run_program(
      with(migrate("Emma was", "4"), {"--inject-fault", kernel + ":" + GetParam().kind, "--json"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  Json json = result.json();
  EXPECT_FALSE(json.find("passed")->as_bool());
  EXPECT_EQ(strings(json.find("culprits")), std::vector<std::string>{kernel});
  EXPECT_FALSE(json.find("target_ran_alone")->as_bool());
  for (const Json& step : json.find("kernels")->items()) {
    if (step.find("kernel")->as_string() != kernel) {
      EXPECT_TRUE(step.find("migrated")->as_bool()) << step.find("kernel")->as_string();
      continue;
    }
    EXPECT_EQ(step.find("outcome")->as_string(), "mismatch");
    std::string layers;
    for (const std::string& layer : strings(step.find("layers"))) layers += layer + "\n";
    EXPECT_NE(layers.find(GetParam().layer), std::string::npos) << layers;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MigrateWithFault,
    ::testing::Values(Fault{"wrong-constant", "rms_norm", "input_layernorm", false},
                      Fault{"off-by-one", "matmul_add", "mlp.down_proj", true},
                      Fault{"dropped-tail", "matmul", "mlp.up_proj", false},
                      Fault{"swapped-operands", "paged_attention", "self_attn", true},
                      Fault{"missing-init", "matmul_silu_multiply", "mlp", true},
                      Fault{"wrong-accumulation", "matmul", "self_attn.q_proj", true}),
    [](const auto& info) {
      std::string name = info.param.kind;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Migrate, ReportsTheFaultAsText) {
  ProgramResult result = run_program(
      with(migrate("Emma was", "4"), {"--inject-fault", "matmul_silu_multiply_:off-by-one"}));
  EXPECT_EQ(result.exit_code, 2) << result.all();
  EXPECT_NE(result.err.find("several kernels of the suite"), std::string::npos) << result.err;

  result = run_program(with(migrate("Emma was", "4"), {"--inject-fault", "slice_:dropped-tail"}));
  EXPECT_EQ(result.exit_code, 1) << result.all();
  EXPECT_NE(result.out.find("culprit: kernel slice_"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("used by: model.norm"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("made by: src/models/"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("identical"), std::string::npos) << result.out;
}

// A faulty decode kernel: the number of decode steps is the requested one, and without any, an
// added call tests the kernel.
TEST(Migrate, ValidationTokensAreDecodeSteps) {
  const std::string decode = "rms_norm_046d0935";
  for (const char* steps : {"0", "1", "2"}) {
    const ProgramResult result = run_program(
        with(migrate("Emma was", "4", "cpu:threads=1"),
             {"--validation-tokens", steps, "--inject-fault", decode + ":wrong-constant"}));
    EXPECT_EQ(result.exit_code, 1) << result.all();
    EXPECT_NE(result.out.find("culprit: kernel " + decode), std::string::npos) << result.all();
    EXPECT_TRUE(result.last_line().starts_with("FAIL 27 of 28 kernels, ")) << result.all();
    EXPECT_TRUE(result.last_line().ends_with(", 1 wrong")) << result.all();
  }
}

TEST(Migrate, AnIneffectiveFaultKindListsTheEffectiveOnes) {
  testing::expect_failure(
      with(migrate("Emma was", "2"), {"--inject-fault", "slice_:wrong-accumulation"}), 2,
      {"no site of this kind", "dropped-tail"});
}

TEST(Migrate, LayerByLayer) {
  TempFolder folder;
  const ProgramResult result =
      run_program(with(migrate("Emma was", "4"),
                       {"--granularity", "layer-by-layer", "--inject-fault", "slice_:dropped-tail",
                        "--report", folder / "report", "--junit", folder / "junit.xml"}));
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const Json json =
      unwrap(parse_json(testing::read_bytes(folder / "report/report.json"), "report.json"));
  const std::vector<std::string> culprits = strings(json.find("culprits"));
  ASSERT_EQ(culprits.size(), 1u);
  std::vector<std::string> names;
  for (const Json& layer : json.find("layers")->items()) {
    names.push_back(layer.find("layer")->as_string());
    const bool wrong = names.back() == "model.norm";
    EXPECT_EQ(strings(layer.find("left")), wrong ? culprits : std::vector<std::string>())
        << names.back();
    EXPECT_TRUE(layer.find("hybrid")->find("passed")->as_bool()) << names.back();
  }
  ASSERT_GE(names.size(), 9u);
  EXPECT_EQ(names[0], "model.embed_tokens");
  EXPECT_EQ(names[6], "model.layers.5");
  const size_t stays = result.out.find("kernels stays");
  ASSERT_NE(stays, std::string::npos) << result.out;
  const size_t named = result.out.find(culprits[0], stays);
  EXPECT_LT(named, result.out.find('\n', result.out.find('\n', stays) + 1)) << result.out;
  EXPECT_NE(result.err.find("migrate: " + std::to_string(names.size()) + " layers"),
            std::string::npos)
      << result.err;
  EXPECT_NE(testing::read_bytes(folder / "junit.xml").find("name=\"layer model.layers.5\""),
            std::string::npos);
}

// The outcomes of a kernel by target.
std::map<std::string, std::string> outcomes_of(const Json& json, const std::string& kernel) {
  std::map<std::string, std::string> outcomes;
  for (const Json& row : json.find("kernels")->items()) {
    if (row.find("kernel")->as_string() != kernel) continue;
    for (const auto& [target, outcome] : row.find("outcomes")->members()) {
      outcomes[target] = outcome.as_string();
    }
  }
  return outcomes;
}

TEST(MigrateToSeveral, SideBySide) {
  TempFolder folder;
  const std::vector<std::string> args =
      with(migrate("Emma was", "4"),
           {"--to", "vulkan", "--inject-fault", "vulkan/slice_:dropped-tail", "--report",
            folder / "report", "--state", folder / "state", "--junit", folder / "junit.xml"});
  const ProgramResult result = run_program(args);
  ASSERT_EQ(result.exit_code, 1) << result.all();
  std::set<std::string> kept = testing::names_under(folder / "state");
  // Both differ in the reference's logits: each continues alone.
  EXPECT_EQ(std::erase_if(kept,
                          [](const std::string& name) {
                            return name.find("/reference-") != std::string::npos;
                          }),
            2u);
  EXPECT_EQ(kept,
            (std::set<std::string>{"opencl", "opencl/state.json", "vulkan", "vulkan/state.json"}));
  const std::string json_text = testing::read_bytes(folder / "report/report.json");
  const Json json = unwrap(parse_json(json_text, "report.json"));
  const std::vector<Json>& targets = json.find("targets")->items();
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_TRUE(targets[0].find("passed")->as_bool()) << "opencl has no bug";
  const std::vector<std::string> culprits = strings(targets[1].find("culprits"));
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_TRUE(culprits[0].starts_with("slice_"));
  EXPECT_EQ(outcomes_of(json, culprits[0]),
            (std::map<std::string, std::string>{{"opencl", "migrated"}, {"vulkan", "mismatch"}}));
  const std::set<std::string> files = testing::names_under(folder / "report");
  for (const std::string file : {"report.html", "opencl/report.html", "opencl/report.json",
                                 "vulkan/report.html", "vulkan/report.json"}) {
    EXPECT_TRUE(files.contains(file)) << file;
  }
  EXPECT_TRUE(files.contains("vulkan/" + culprits[0] + "/suite/suite.json"));
  EXPECT_EQ(
      unwrap(parse_json(testing::read_bytes(folder / "report/vulkan/report.json"), "json")).dump(),
      targets[1].dump());
  for (const char* text : {"kernel ", " opencl     vulkan\n", "to vulkan\n", "same text  not run",
                           "1 of 2 targets run the whole model."}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
  const std::string junit = testing::read_bytes(folder / "junit.xml");
  EXPECT_NE(junit.find("cpu to opencl\" tests="), std::string::npos) << junit;
  EXPECT_NE(junit.find("cpu to vulkan\" tests="), std::string::npos) << junit;
  // A single target resumes from the state that it has among several.
  const ProgramResult alone = run_program(with(
      migrate("Emma was", "4", "vulkan"),
      {"--inject-fault", "slice_:dropped-tail", "--state", folder / "state/vulkan", "--json"}));
  EXPECT_EQ(alone.exit_code, 1) << alone.all();
  EXPECT_EQ(alone.json().find("resumed")->as_integer(),
            std::ssize(alone.json().find("kernels")->items()));
}

TEST(MigrateToSeveral, AnUnavailableTargetDoesNotAffectTheOther) {
  TempFolder folder;
  const std::string endpoint = "cpu@unix:" + (folder / "none");
  const ProgramResult result =
      run_program({"migrate", kDemoModel, "--from", "cpu", "--to", endpoint, "--to", "cpu",
                   "--prompt", "Emma was", "--max-tokens", "2", "--report", folder / "report"});
  EXPECT_EQ(result.exit_code, 4) << result.all();
  EXPECT_NE(result.err.find(endpoint + " drops out: "), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("ended by an error: "), std::string::npos) << result.out;
  const Json json =
      unwrap(parse_json(testing::read_bytes(folder / "report/report.json"), "report.json"));
  EXPECT_FALSE(json.find("passed")->as_bool());
  const std::vector<Json>& targets = json.find("targets")->items();
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_TRUE(targets[0].find("error")->find("kind")->as_string().starts_with("platform: "));
  EXPECT_TRUE(targets[1].find("passed")->as_bool());
  testing::expect_failure(
      {"migrate", kDemoModel, "--to", endpoint, "--to", endpoint + "2", "--prompt", "Emma was"}, 4,
      {"none"});
}

TEST(Migrate, InterruptedLeavesNoReport) {
  TempFolder folder;
  ProgramOptions options;
  options.interrupt_after = "evaluate the reference of the whole model: done";
  ProgramResult result =
      run_program(with(migrate("Emma was", "8"), {"--report", folder / "report"}), options);
  EXPECT_EQ(result.exit_code, 130) << result.all();
  EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
  EXPECT_EQ(testing::names_under(folder / "report"), std::set<std::string>{});
}

}  // namespace
}  // namespace tapml
