// Folders of quantized safetensors: the numbers that their methods define, and the logits of these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "llm/engine.h"
#include "models/quantization.h"
#include "pipeline/compile.h"
#include "support/golden_models.h"
#include "support/sessions.h"

namespace tapml {
namespace {

// The value of a code of a small float.
float small_float(const std::string& format, int code) {
  const bool is_byte = format == "e4m3";
  const int sign = is_byte ? 128 : 8, steps = is_byte ? 8 : 2, bias = is_byte ? 7 : 1;
  const int exponent = code % sign / steps, mantissa = code % steps;
  const float magnitude = std::ldexp(
      static_cast<float>(mantissa) / static_cast<float>(steps) + (exponent > 0 ? 1.0f : 0.0f),
      std::max(exponent, 1) - bias);
  return code < sign ? magnitude : -magnitude;
}

// What the operator dequantize of a weight's layout makes, in f32, in the published order.
HostTensor dequantized(const frontend::HuggingFaceModel& model, const std::string& name) {
  const auto found = model.layouts.find(name);
  if (found == model.layouts.end()) return model.weights.at(name);
  const models::WeightLayout& layout = found->second;
  const HostTensor& packed = model.weights.at(models::packed_name(name));
  const HostTensor& scales = model.weights.at(models::scales_name(name));
  Shape shape = packed.shape();
  if (!layout.is_whole()) shape.back() *= 2;
  HostTensor result = HostTensor::zeros(DType::kF32, shape);
  const int64_t columns = shape.back();
  for (int64_t i = 0; i < result.size(); ++i) {
    const auto group = i / layout.group;
    int code = static_cast<int>(packed.at_f64(layout.is_whole() ? i : i / 2));
    if (!layout.is_whole()) code = i % 2 == 0 ? code & 15 : code >> 4;
    const bool is_integer = layout.values.empty() && layout.format.empty();
    const bool is_centered = !layout.is_whole() && !layout.has_minimums;
    float level = static_cast<float>(code - (is_integer && is_centered ? 8 : 0));
    if (!layout.values.empty()) level = layout.values[static_cast<size_t>(code)];
    if (!layout.format.empty()) level = small_float(layout.format, code);
    float value = level * static_cast<float>(scales.at_f64(group));
    if (layout.has_minimums) {
      value += static_cast<float>(model.weights.at(models::minimums_name(name)).at_f64(group));
    }
    int64_t column = i % columns;
    if (layout.has_order) {
      column =
          model.weights.at(models::order_name(name)).values<int32_t>()[static_cast<size_t>(column)];
    }
    result.mutable_values<float>()[static_cast<size_t>(i - i % columns + column)] = value;
  }
  if (!layout.is_swapped) return result;
  HostTensor swapped = HostTensor::zeros(DType::kF32, {columns, shape[0]});
  for (int64_t i = 0; i < result.size(); ++i) {
    swapped.set_f64(i % columns * shape[0] + i / columns, result.at_f64(i));
  }
  return swapped;
}

struct Folder {
  const char* name;
  bool compiled = false;  // its logits are checked, too
  bool expanded = false;  // some weights are not kept as they are
};

class QuantizedFolder : public ::testing::TestWithParam<Folder> {};

TEST_P(QuantizedFolder, HasTheNumbersAndLogitsOfItsMethod) {
  const std::string folder = testing::golden_path("quantized/" + std::string(GetParam().name));
  const auto golden = testing::read_tensors(folder + "/golden.safetensors");
  const frontend::HuggingFaceModel model = frontend::read_model(folder);
  EXPECT_TRUE(GetParam().expanded || !model.layouts.empty());
  const bool has_note = std::ranges::any_of(model.warnings, [](const std::string& warning) {
    return warning.starts_with("quantized weights become f32, which take ");
  });
  EXPECT_EQ(has_note, GetParam().expanded) << ::testing::PrintToString(model.warnings);
  int compared = 0;
  for (const auto& [name, expected] : golden) {
    if (name == "tokens" || name == "logits") continue;
    ++compared;
    const HostTensor found = dequantized(model, name);
    ASSERT_EQ(found.shape(), expected.shape()) << name;
    for (int64_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found.at_f64(i), expected.at_f64(i)) << name << " at " << i;
    }
  }
  EXPECT_GT(compared + (golden.size() == 2), 0);
  if (!GetParam().compiled && !std::getenv("TAPML_TEST_ALL_MODELS")) return;
  const HostTensor& expected = golden.at("logits");
  const auto tokens = golden.at("tokens").values<int32_t>();
  const auto session = testing::open_session("cpu");
  const auto executable = pipeline::compile(model.module, target::parse_target("cpu"));
  const auto engine = unwrap(llm::Engine::create(*session, executable, model.weights));
  const HostTensor all = unwrap(engine->logits_all(tokens));
  EXPECT_LE(testing::largest_difference(all, expected), testing::logit_tolerance(expected));
  // The last token by itself: products of one row have loops of their own.
  engine->reset();
  const int64_t vocabulary = expected.shape()[1];
  unwrap(engine->prefill(tokens.first(tokens.size() - 1)));
  const HostTensor last = unwrap(runtime::download(unwrap(engine->decode(tokens.back()))));
  EXPECT_LE(testing::largest_difference(last, expected, expected.size() - vocabulary),
            testing::logit_tolerance(expected));
}

// Compiled are one of each form of a graph: others differ in numbers alone, and
// TAPML_TEST_ALL_MODELS compiles them, too.
INSTANTIATE_TEST_SUITE_P(
    Golden, QuantizedFolder,
    ::testing::Values(Folder{"gptq4"}, Folder{"gptq4_act_order", true}, Folder{"gptq4_short"},
                      Folder{"gptq3"}, Folder{"gptq2"}, Folder{"gptq8"}, Folder{"gptq8_zeros"},
                      Folder{"gptq_gpt2", true}, Folder{"gptq_moe"},
                      Folder{"gptq_moe_act_order", false, true}, Folder{"awq"},
                      Folder{"fp8_blocks"}, Folder{"fp8_blocks_moe", true}, Folder{"fp8_tensor"},
                      Folder{"fp8_rows"}, Folder{"fp8_e5m2", false, true}, Folder{"ct_int4"},
                      Folder{"ct_int4_zeros"}, Folder{"ct_int8"}, Folder{"ct_float8"},
                      Folder{"ct_float8_blocks"}, Folder{"ct_nvfp4"}, Folder{"ct_mxfp4"},
                      Folder{"mxfp4"}, Folder{"modelopt_nvfp4"}, Folder{"bnb_nf4", true},
                      Folder{"bnb_fp4"}, Folder{"bnb_int8"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml
