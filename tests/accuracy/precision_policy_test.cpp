// Models whose activations and KV cache have other dtypes than f32, on every platform.
#include <gtest/gtest.h>

#include "app/model.h"
#include "op/operator.h"
#include "relax/visit.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"
#include "support/quantized_models.h"
#include "support/sanitized.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {
namespace {

struct PrecisionCase {
  const char* platform;
  const char* name;
  const char* config;
  const char* quantization;  // empty: none
  models::Precision precision;
};

std::string case_name(const PrecisionCase& test) {
  std::string name = std::string(test.platform) + "_" + test.name;
  if (*test.quantization) name += std::string("_") + test.quantization;
  name += std::string("_") + dtype_name(*test.precision.activations);
  if (test.precision.cache) name += std::string("_cache_") + dtype_name(*test.precision.cache);
  if (test.precision.accumulation) {
    name += std::string("_sums_") + dtype_name(*test.precision.accumulation);
  }
  return name;
}

void PrintTo(const PrecisionCase& test, std::ostream* out) { *out << case_name(test); }

frontend::HuggingFaceModel read_case(const PrecisionCase& test,
                                     const models::Precision& precision) {
  testing::TempFolder folder;
  testing::write_model(folder, test.config);
  return frontend::read_model(folder.path(), app::find_quantization(test.quantization), precision);
}

class PrecisionPolicy : public ::testing::TestWithParam<PrecisionCase> {};

TEST_P(PrecisionPolicy, LogitsMatchTheReference) {
  const PrecisionCase& test = GetParam();
  if (testing::kSanitized && std::string(test.platform) != "cpu") {
    GTEST_SKIP() << "takes minutes under a sanitizer";
  }
  auto session = testing::open_session(test.platform);
  if (!session) GTEST_SKIP() << test.platform << " is not here";
  const auto model = read_case(test, test.precision);
  const auto wide = read_case(test, {.activations = DType::kF32, .cache = DType::kF32});
  const std::vector<int32_t> tokens = {5, 66, 0, 13, 13, 41, 2, 30, 8, 27, 60, 19};
  const ModelInterface interface = unwrap(model_interface_of(model.module.all_attrs()));
  const DType activations = *test.precision.activations;
  EXPECT_EQ(interface.state.front().dtype, test.precision.cache.value_or(activations));

  // The weights are the same; only the roundings on the way to the logits are others.
  const HostTensor expected =
      evaluate_logits(wide.module, unwrap(model_interface_of(wide.module.all_attrs())),
                      wide.weights, tokens)
          .to_host();
  const double tolerance =
      testing::logit_tolerance(expected) *
      (activations == DType::kBF16 || test.precision.cache == DType::kBF16 ? 800
       : activations == DType::kF16                                        ? 100
                                                                           : 50);
  auto executable = pipeline::compile(model.module, target::parse_target(test.platform));
  auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
  EXPECT_LE(testing::largest_difference(unwrap(engine->logits_all(tokens)), expected), tolerance);
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

std::vector<PrecisionCase> precision_cases() {
  using testing::kQuantizedLlama;
  using testing::kQuantizedMoe;
  constexpr DType kF32 = DType::kF32, kF16 = DType::kF16, kBF16 = DType::kBF16;
  std::vector<PrecisionCase> all;
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    all.push_back({platform, "llama", kQuantizedLlama, "", {kF16, {}}});
    all.push_back({platform, "moe", kQuantizedMoe, "", {kF16, kBF16}});
    all.push_back({platform, "llama", kQuantizedLlama, "q4f32", {kF32, kF16}});
  }
  // Mesa takes seconds to compile a kernel.
  for (const char* platform : {"cpu", "opencl"}) {
    all.push_back({platform, "llama", kQuantizedLlama, "", {kF16, {}, kF16}});
    all.push_back({platform, "llama", kQuantizedLlama, "", {kBF16, {}}});
  }
  all.push_back({"cpu", "moe", kQuantizedMoe, "q4f16", {kF16, {}, kF16}});
  all.push_back({"cpu", "moe", kQuantizedMoe, "q4f16", {kBF16, {}}});
  all.push_back({"cpu", "moe", kQuantizedMoe, "q4f16", {kF32, {}}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Platforms, PrecisionPolicy, ::testing::ValuesIn(precision_cases()),
                         [](const auto& info) { return case_name(info.param); });

// The attribute of each product but the head's, which the text has.
TEST(PrecisionOptions, AccumulationIsInTheProgram) {
  const auto text_with = [](const char* config, const char* quantization,
                            const models::Precision& precision) {
    return text::print(read_case({"cpu", "", config, quantization, precision}, precision).module);
  };
  const auto count = [](const std::string& text, const std::string& word) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const auto products_of = [](const Module& module) {
    size_t found = 0;
    for (const auto& [name, function] : module.functions) {
      const auto* graph = relax::as_relax_function(function.get());
      if (!graph) continue;
      relax::visit(graph->body, [&](const relax::Expr& e) {
        const op::OperatorInfo* info = op::called_operator_info(e);
        found += info && std::string(info->name).ends_with("matmul");
      });
    }
    return found;
  };
  const std::string attribute = "accumulation: f16";
  for (const char* config : {testing::kQuantizedLlama, testing::kQuantizedMoe}) {
    for (const char* quantization : {"", "q4f16", "q4f32"}) {
      const models::Precision half = {.activations = DType::kF16, .accumulation = DType::kF16};
      const std::string text = text_with(config, quantization, half);
      const Module parsed = text::parse(text, "printed");
      // prefill, decode and logits_all have a head each.
      EXPECT_EQ(count(text, attribute), products_of(parsed) - 3);
      EXPECT_EQ(text::print(parsed), text);
      EXPECT_TRUE(specifies_half_sums(parsed));
      EXPECT_EQ(count(text_with(config, quantization, {.activations = DType::kF16}), attribute),
                0U);
    }
    // The quantization's activations count.
    EXPECT_GT(count(text_with(config, "q4f16", {.accumulation = DType::kF16}), attribute), 0U);
    for (const auto& activations : {std::optional<DType>(), std::optional(DType::kBF16)}) {
      testing::expect_user_error(
          [&] { text_with(config, "", {.activations = activations, .accumulation = DType::kF16}); },
          {"--accumulation", "activations f16", "--activations f16"});
    }
  }
}

TEST(PrecisionOptions, AreNamedWhereTheyAreWrong) {
  testing::expect_user_error([] { app::precision_of({.activations = "f8"}); },
                             {"--activations", "f32, f16 or bf16", "f8"});
  testing::expect_user_error([] { app::precision_of({.kv_cache = "i8"}); },
                             {"--kv-cache", "f32, f16 or bf16", "i8"});
  testing::expect_user_error([] { app::precision_of({.accumulation = "bf16"}); },
                             {"--accumulation", "f32 or f16", "bf16"});
  const models::Precision none = app::precision_of({});
  EXPECT_FALSE(none.activations || none.cache || none.accumulation);
}

}  // namespace
}  // namespace tapml::topdown
