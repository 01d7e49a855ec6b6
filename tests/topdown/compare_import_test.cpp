// The import's comparison, with a program in place of Python that gives prepared values; the tests
// of the Python package have the real program.
#include "topdown/reference_run/compare_import.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "models/architectures/llama.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/golden_models.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/reference_run/model_reference.h"
#include "topdown/reference_run/module_boundaries.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, HostTensor>;
using testing::expect_platform_error;
using testing::expect_user_error;
using testing::GoldenModel;

const std::vector<int32_t> kTokens = {3, 1, 4, 1, 5};

HostTensor in_f64(const op::RefTensor& value) {
  std::vector<double> values;
  for (const double x : value.values) values.push_back(x);
  return HostTensor::from<double>(DType::kF64, value.shape, values);
}

void change(HostTensor& tensor, int64_t index, double by) {
  HostTensor changed = HostTensor::zeros(DType::kF64, tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) changed.set_f64(i, tensor.at_f64(i));
  changed.set_f64(index, tensor.at_f64(index) + by);
  tensor = changed;
}

class CompareImport : public ::testing::Test {
 protected:
  CompareImport()
      : golden_(testing::golden_model("one_layer")),
        formed_(pipeline::form_kernels(golden_.model.module)) {
    const ModuleBoundaries boundaries =
        module_boundaries(*relax::as_relax_function(golden_.model.module.find("logits_all")));
    interp::CallOptions options;
    options.observe = [&](const relax::Binding& binding, const op::RefTensor& value) {
      const auto ends = boundaries.of.find(binding.var.get());
      if (ends == boundaries.of.end()) return;
      for (const ModuleBoundary& boundary : ends->second) {
        tensors_[boundary.module + (boundary.output ? ":output:0" : ":input")] = in_f64(value);
      }
    };
    tensors_["logits"] =
        in_f64(evaluate_logits(golden_.model.module, golden_.interface(), golden_.model.weights,
                               import_tokens(kTokens, golden_.interface()), options));
    frequencies_ = boundaries.frequencies.front();
  }

  // A program that writes `tensors_` where the request wants them.
  void prepare(const std::string& missing = "[]") {
    ASSERT_TRUE(write_file_atomic(
        folder_ / "prepared", write_safetensors(tensors_, {{"implementation", "paper 1, pencil 2"},
                                                           {"class", "Written"},
                                                           {"dtype", "f64"},
                                                           {"missing", missing}})));
    script("cp " + (folder_ / "prepared") + " $(sed 's/.*\"output\":\"\\([^\"]*\\)\".*/\\1/' $2)");
  }

  void script(const std::string& text) {
    ASSERT_TRUE(write_text_atomic(folder_ / "python", "#!/bin/sh\n" + text + "\n"));
    fs::permissions(folder_ / "python", fs::perms::owner_all);
  }

  ImportCheck compare(const Module* formed = nullptr) {
    return compare_import(golden_.model.module, formed ? *formed : formed_, golden_.interface(),
                          golden_.model.weights,
                          {.folder = "model",
                           .python = folder_ / "python",
                           .tokens = kTokens,
                           .longest = longest_,
                           .poll = {},
                           .cancelled = cancelled_,
                           .watcher = {}});
  }

  GoldenModel golden_;
  Module formed_;
  Tensors tensors_;
  HostTensor frequencies_;
  testing::TempFolder folder_;
  std::chrono::milliseconds longest_{60'000};
  std::function<bool()> cancelled_;
};

TEST(ModuleBoundaries, HasBothTablesOfLongRope) {
  const GoldenModel golden = testing::golden_model("phi3_longrope_long");
  const ModuleBoundaries boundaries =
      module_boundaries(*relax::as_relax_function(golden.model.module.find("logits_all")));
  ASSERT_EQ(boundaries.frequencies.size(), 2u);
  EXPECT_NE(boundaries.frequencies[0].at_f64(1), boundaries.frequencies[1].at_f64(1));
  EXPECT_TRUE(boundaries.rotated);
}

TEST_F(CompareImport, EqualLogitsPass) {
  prepare();
  const ImportCheck check = compare();
  EXPECT_TRUE(check.passed()) << difference_texts(check).at(0);
  EXPECT_EQ(check.implementation, "paper 1, pencil 2");
  EXPECT_EQ(check.tokens, 16);
  EXPECT_EQ(check.max_abs, 0);
  EXPECT_GT(check.bound, 0);
  EXPECT_LT(check.bound, 1e-7);
  EXPECT_EQ(check.values, std::ssize(tensors_) - 1);
  EXPECT_GE(check.kernels_at_ends, 8);
  EXPECT_LT(check.kernels_at_ends, check.kernels);
  EXPECT_EQ(import_text(check).find("agrees with paper 1, pencil 2 (Written in f64)"), 0u);
  EXPECT_TRUE(difference_texts(check).empty());
}

// The names are those of Hugging Face's modules.
TEST_F(CompareImport, ComparesTheEndsOfEveryModule) {
  const std::string layer = "model.layers.0";
  for (const std::string end :
       {".input_layernorm:output:0", ".self_attn.q_proj:input", ".self_attn.q_proj:output:0",
        ".self_attn.k_proj:output:0", ".self_attn.v_proj:output:0", ".self_attn.o_proj:input",
        ".self_attn.o_proj:output:0", ".self_attn:output:0", ".post_attention_layernorm:input",
        ".post_attention_layernorm:output:0", ".mlp.gate_proj:output:0", ".mlp.act_fn:output:0",
        ".mlp.up_proj:output:0", ".mlp.down_proj:input", ".mlp:output:0", ":input", ":output:0"}) {
    EXPECT_TRUE(tensors_.contains(layer + end)) << end;
  }
  for (const char* end : {"model.embed_tokens:output:0", "model.norm:input", "model.norm:output:0",
                          "lm_head:input", "lm_head:output:0"}) {
    EXPECT_TRUE(tensors_.contains(end)) << end;
  }
  EXPECT_FALSE(tensors_.contains(layer + ".self_attn:input"));
}

TEST_F(CompareImport, TheFirstValueThatDiffersIsNamed) {
  const std::string end = "model.layers.0.mlp.down_proj:input";
  const int64_t row = tensors_.at(end).size() / 16;
  change(tensors_.at(end), 3 * row + 1, 1e-3);
  change(tensors_.at("model.layers.0:output:0"), 0, 1);
  change(tensors_.at("logits"), 3 * golden_.interface().vocabulary, 1e-3);
  prepare(R"(["model.other.weight"])");
  const ImportCheck check = compare();
  ASSERT_FALSE(check.passed());
  EXPECT_EQ(check.first->module, "model.layers.0.mlp.down_proj");
  EXPECT_EQ(check.first->end, "input");
  EXPECT_EQ(check.first->layer, 0);
  EXPECT_EQ(check.first->token, 3);
  EXPECT_NEAR(check.first->max_abs, 1e-3, 1e-12);
  EXPECT_NEAR(check.first->published - check.first->found, 1e-3, 1e-12);
  EXPECT_FALSE(check.first->by_passes);
  const std::vector<std::string> texts = difference_texts(check);
  EXPECT_EQ(texts.at(0),
            "first in layer 0, input of model.layers.0.mlp.down_proj (activation times up)");
  EXPECT_EQ(texts.at(1).find("at token 3: up to 1.0e-03 apart, "), 0u);
  EXPECT_EQ(texts.at(2), "the files lack weights of the published model: model.other.weight");
  const Json json = import_json(check);
  EXPECT_FALSE(json.find("passed")->as_bool());
  EXPECT_EQ(json.find("first")->find("module")->as_string(), "model.layers.0.mlp.down_proj");
  EXPECT_TRUE(import_json({}).is_null());
  EXPECT_EQ(
      verdict_line(check).text(),
      "FAIL the import differs first in model.layers.0.mlp.down_proj, nothing else was tested");
  const std::string junit = junit_xml(ci_report("tapml migrate m", check));
  EXPECT_NE(junit.find("tests=\"1\" failures=\"1\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("first in layer 0, input of"), std::string::npos) << junit;
}

// Only the logits decide: a module may end elsewhere in the import.
TEST_F(CompareImport, OtherValuesWithEqualLogitsPass) {
  change(tensors_.at("model.layers.0.mlp.down_proj:input"), 0, 1);
  prepare();
  EXPECT_TRUE(compare().passed());
}

TEST_F(CompareImport, EveryTokensLogitsCount) {
  for (const double by : {1e-7, std::nan("")}) {
    change(tensors_.at("logits"), tensors_.at("logits").size() - 1, by);
    prepare();
    const ImportCheck check = compare();
    ASSERT_FALSE(check.passed()) << by;
    EXPECT_EQ(check.first->module, "lm_head");
    EXPECT_EQ(check.first->token, 15);
  }
}

// The import agrees; the program after the passes is that of another epsilon.
TEST_F(CompareImport, APassThatChangesTheModelFails) {
  prepare();
  const std::string path = testing::golden_path("logits/one_layer/config.json");
  const Json json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  models::ConfigNotes notes;
  models::LlamaConfig config = models::read_llama_config(JsonObjectReader(json, path), notes);
  config.norm_epsilon *= 1.1;
  const Module other = pipeline::form_kernels(
      models::build_decoder(models::llama_model(config), {.fallback = golden_.model.config.dtype}));
  const ImportCheck check = compare(&other);
  ASSERT_FALSE(check.passed());
  EXPECT_TRUE(check.first->by_passes);
  EXPECT_NE(difference_texts(check).at(2).find("--bisect passes"), std::string::npos);
}

// PyTorch's f32 power function may be an ULP off, which all later values show.
TEST_F(CompareImport, FrequenciesThatRoundOtherwiseAreNoFault) {
  HostTensor published = HostTensor::zeros(DType::kF64, frequencies_.shape());
  for (int64_t j = 0; j < frequencies_.size(); ++j) published.set_f64(j, frequencies_.at_f64(j));
  tensors_["model.rotary_emb:inv_freq"] = published;
  change(tensors_.at("logits"), 7, 1e-7);
  prepare();
  EXPECT_FALSE(compare().passed());
  change(tensors_.at("model.rotary_emb:inv_freq"), 1, 0x1p-24 * frequencies_.at_f64(1));
  prepare();
  EXPECT_TRUE(compare().passed());
  change(tensors_.at("model.rotary_emb:inv_freq"), 1, 0x1p-21 * frequencies_.at_f64(1));
  prepare();
  EXPECT_FALSE(compare().passed());
}

TEST_F(CompareImport, LogitsOfAnotherShapeAreRefused) {
  tensors_["logits"] = HostTensor::zeros(DType::kF64, {1, 16, 7});
  prepare();
  expect_user_error([&] { compare(); }, {"another shape", "[1, 16, 300]", "f64[1, 16, 7]"});
}

TEST_F(CompareImport, APythonThatFailsHangsOrIsNoneIsReported) {
  script("echo 'out of \x1b[31mmemory' >&2; exit 7");
  expect_user_error([&] { compare(); }, {"does not run this model", "model",
                                         "exit code 7: out of "
                                         "\\x1b[31mmemory"});
  script("exit 3");
  expect_user_error([&] { compare(); }, {"are not installed", "pip install torch transformers"});
  script("echo {} > $(sed 's/.*\"output\":\"\\([^\"]*\\)\".*/\\1/' $2)");
  expect_user_error([&] { compare(); }, {"the published implementation's output"});
  longest_ = std::chrono::milliseconds(300);
  script("exec sleep 60");
  expect_platform_error([&] { compare(); }, PlatformFault::kTimeout, {"did not end"});
  cancelled_ = [] { return true; };
  expect_platform_error([&] { compare(); }, PlatformFault::kCancelled, {"interrupted"});
  fs::remove(folder_ / "python");
  expect_user_error([&] { compare(); }, {"cannot start", "--python"});
}

// A norm with a gate reads two values from outside; the published run records its first argument.
TEST(ModuleBoundaries, TheInputIsTheFirstValueThatAModuleReads) {
  const Module module = text::parse(R"(module

def main(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  dataflow {
    gate: Tensor((2,), f32) = exp(x) @origin("m.gate")
    scan: Tensor((2,), f32) = exp(gate) @origin("m.scan")
    norm: Tensor((2,), f32) = sqrt(scan) @origin("m.norm")
    gated: Tensor((2,), f32) = multiply(norm, gate) @origin("m.norm")
    again: Tensor((2,), f32) = multiply(gated, scan) @origin("m.norm")
    output again
  }
  return again
}
)",
                                    "m.txt");
  const ModuleBoundaries boundaries =
      module_boundaries(*relax::as_relax_function(module.find("main")));
  std::vector<std::string> inputs;
  for (const auto& [var, ends] : boundaries.of) {
    for (const ModuleBoundary& end : ends) {
      if (!end.output) inputs.push_back(end.module + " reads " + var->name);
    }
  }
  std::ranges::sort(inputs);
  EXPECT_EQ(inputs, (std::vector<std::string>{"m.norm reads scan", "m.scan reads gate"}));
}

TEST(ImportTokens, AreThoseOfTheModelThenRandomOnes) {
  ModelInterface model;
  model.vocabulary = 10;
  model.context = 64;
  const std::vector<int32_t> made = import_tokens({9, 10, -1, 0}, model);
  ASSERT_EQ(made.size(), 16u);
  EXPECT_EQ(made[0], 9);
  EXPECT_EQ(made[1], 0);
  for (const int32_t token : made) EXPECT_TRUE(token >= 0 && token < 10);
  EXPECT_EQ(import_tokens({9, 0}, model), made);
  EXPECT_EQ(import_tokens(std::vector<int32_t>(40, 3), model), std::vector<int32_t>(16, 3));
  model.context = 5;
  EXPECT_EQ(import_tokens({}, model).size(), 5u);
}

}  // namespace
}  // namespace tapml::topdown
