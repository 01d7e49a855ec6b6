// Quantized models on every local platform, against the reference with the same weights.
#include <gtest/gtest.h>

#include "models/quantization.h"
#include "passes/memory/report.h"
#include "passes/weights.h"
#include "relax/visit.h"
#include "support/compiled_models.h"
#include "support/quantized_models.h"
#include "support/sanitized.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {
namespace {

using testing::kQuantizedLlama;
using testing::kQuantizedMoe;

struct Case {
  const char* platform;
  const char* name;
  const char* config;
  const char* quantization;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.platform << " " << test.name << " " << test.quantization;
}

frontend::HuggingFaceModel quantized_model(const char* config, const char* quantization) {
  testing::TempFolder folder;
  testing::write_model(folder, config);
  return frontend::read_model(folder.path(), models::Quantization::parse(quantization));
}

class QuantizedModel : public ::testing::TestWithParam<Case> {};

TEST_P(QuantizedModel, LogitsAgreeWithTheReference) {
  if (testing::kSanitized && std::string(GetParam().platform) != "cpu") {
    GTEST_SKIP() << "takes minutes under a sanitizer";
  }
  auto session = testing::open_session(GetParam().platform);
  if (!session) GTEST_SKIP() << GetParam().platform << " is unavailable";
  const auto model = quantized_model(GetParam().config, GetParam().quantization);
  const std::vector<int32_t> tokens = {5, 66, 0, 13, 13, 41, 2, 30, 8, 27, 60, 19};
  const ModelInterface interface = unwrap(model_interface_of(model.module.all_attrs()));
  const op::RefTensor reference = evaluate_logits(model.module, interface, model.weights, tokens);
  const HostTensor expected = reference.to_host();
  // f16 activations are rounded to 11 bits a hundred times before the logits.
  const bool narrow =
      models::Quantization::parse(GetParam().quantization)->activations() == DType::kF16;
  EXPECT_EQ(interface.state.front().dtype, narrow ? DType::kF16 : DType::kF32);
  const double tolerance = (narrow ? 100 : 1) * testing::logit_tolerance(expected);

  auto executable = pipeline::compile(model.module, target::parse_target(GetParam().platform));
  // Every product dequantizes its own weights.
  int products = 0;
  for (const auto& kernel : executable->kernels) {
    if (!kernel.name.starts_with("dequantize")) continue;
    const bool is_product = kernel.name.find("matmul") != std::string::npos;
    EXPECT_TRUE(is_product || kernel.name.find("take") != std::string::npos) << kernel.name;
    products += is_product ? 1 : 0;
  }
  EXPECT_GE(products, 6);
  auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
  // Products of many rows, of a few, and of one.
  const HostTensor all = unwrap(engine->logits_all(tokens));
  EXPECT_LE(testing::largest_difference(all, expected), tolerance);
  unwrap(engine->clear());
  auto check = [&](const runtime::Tensor& logits) {
    const int64_t row = engine->length() - 1;
    EXPECT_LE(testing::largest_difference(unwrap(runtime::download(logits)), expected,
                                          row * interface.vocabulary),
              tolerance)
        << "token " << row;
  };
  check(unwrap(engine->prefill(std::span(tokens).first(3))));
  for (size_t i = 3; i < 7; ++i) check(unwrap(engine->decode(tokens[i])));
  check(unwrap(engine->prefill(std::span(tokens).subspan(7))));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    const bool cpu = platform == std::string("cpu");
    all.push_back({platform, "llama", kQuantizedLlama, cpu ? "q4f32" : "q4f16"});
    all.push_back({platform, "moe", kQuantizedMoe, cpu ? "q4f16" : "q4f32"});
    all.push_back({platform, "llama", kQuantizedLlama, cpu ? "q3f32m" : "q6f32"});
    all.push_back({platform, "moe", kQuantizedMoe, cpu ? "q5f32" : "q2f32m"});
  }
  all.push_back({"cpu", "llama", kQuantizedLlama, "q8f32,*embed*=q5f32,lm_head*=q8f32m"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Platforms, QuantizedModel, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.platform) + "_" + info.param.name + "_" +
                                  testing::target_test_name(info.param.quantization);
                         });

// Weights stay packed: no planned and no prepared tensor is as large as they would be in f32.
TEST(QuantizedMemory, WeightsAreNeverExpanded) {
  // OpenCL uses the schedules of CPUs here, as cpu does.
  for (const char* config : {kQuantizedLlama, kQuantizedMoe}) {
    const auto model = quantized_model(config, "q4f32");
    int64_t packed = 0;
    for (const auto& [name, tensor] : model.weights) {
      const bool quantized = name.ends_with(".packed") || name.ends_with(".scales");
      if (quantized) packed += static_cast<int64_t>(tensor.byte_size());
    }
    Module module = model.module;
    for (const char* bound : {"b", "n", "p"}) module.facts.bounds[bound] = 1;
    Module planned;
    pipeline::ImplementOptions options;
    options.planned = &planned;
    pipeline::implement(pipeline::form_kernels(module, {}), target::parse_target("opencl"),
                        options);
    // For one token, no tensor is as large as the smallest weight would be in f32.
    for (const passes::FunctionMemory& function : passes::memory_report(planned).functions) {
      if (function.name == passes::kPrepareFunction) continue;
      ASSERT_TRUE(function.peak && function.peak.is_int()) << function.name;
      EXPECT_LT(function.peak->int_value, 32 * 64 * 4) << function.name;
    }
    // Except for the head, prepared weights are the same integers and scales in another order,
    // padded to whole panels.
    int64_t prepared = 0;
    const auto* prepare = relax::as_relax_function(planned.find(passes::kPrepareFunction));
    if (!prepare) continue;
    relax::visit_bindings(prepare->body, [&](const relax::Binding& binding, bool) {
      if (relax::called_operator(binding.value) != "memory.alloc_storage") return;
      const auto& call = *relax::as<relax::CallNode>(binding.value);
      prepared += relax::as<relax::ShapeNode>(call.args[0])->dims[0]->int_value;
    });
    EXPECT_GT(prepared, 0);
    EXPECT_LE(prepared, 2 * packed + 2 * 67 * 64 * 4);
  }
}

// The error of quantization itself: the demo model gives nearly the same results.
TEST(QuantizedDemo, IsCloseToTheReference) {
  const testing::GoldenModel golden = testing::golden_model("demo");
  const auto model = frontend::read_model(std::string(TAPML_SOURCE_DIR) + "/models/demo",
                                          models::Quantization::parse("q4f16"));
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(model.module, target::parse_target("cpu"));
  auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
  const HostTensor& expected = golden.reference.at("logits");
  const HostTensor logits =
      unwrap(engine->logits_all(golden.reference.at("tokens").values<int32_t>()));
  ASSERT_EQ(logits.size(), expected.size());
  double error = 0, size = 0;
  for (int64_t i = 0; i < logits.size(); ++i) {
    error += std::pow(logits.at_f64(i) - expected.at_f64(i), 2);
    size += std::pow(expected.at_f64(i), 2);
  }
  EXPECT_LT(std::sqrt(error / size), 0.2);
  EXPECT_GT(std::sqrt(error / size), 1e-4) << "nothing was quantized";
}

}  // namespace
}  // namespace tapml::topdown
