// Folders of quantized safetensors: the numbers that their methods define, and the logits of these.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "llm/engine.h"
#include "models/quantization.h"
#include "pipeline/compile.h"
#include "support/golden_models.h"
#include "support/sessions.h"

namespace tapml {
namespace {

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
    const bool is_centered = !layout.is_whole() && !layout.has_minimums && layout.values.empty();
    const float level = layout.values.empty() ? static_cast<float>(code - (is_centered ? 8 : 0))
                                              : layout.values[static_cast<size_t>(code)];
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
  bool compiled;  // its logits are checked with compiled code, too
  bool expanded;  // some weights are not kept as they are
};

class QuantizedFolder : public ::testing::TestWithParam<Folder> {};

TEST_P(QuantizedFolder, HasTheNumbersAndLogitsOfItsMethod) {
  const std::string folder = testing::golden_path("quantized/" + std::string(GetParam().name));
  const auto golden = testing::read_tensors(folder + "/golden.safetensors");
  const frontend::HuggingFaceModel model = frontend::read_model(folder);
  EXPECT_FALSE(model.layouts.empty() && !GetParam().expanded);
  EXPECT_EQ(model.warnings.empty(), !GetParam().expanded)
      << ::testing::PrintToString(model.warnings);
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
  if (!GetParam().compiled) return;
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

INSTANTIATE_TEST_SUITE_P(
    Golden, QuantizedFolder,
    ::testing::Values(Folder{"gptq4", true, false}, Folder{"gptq4_act_order", true, false},
                      Folder{"gptq4_short", true, false}, Folder{"gptq3", true, false},
                      Folder{"gptq2", true, false}, Folder{"gptq8", true, false},
                      Folder{"gptq8_zeros", true, false}, Folder{"gptq_gpt2", true, false},
                      Folder{"gptq_moe", true, false}, Folder{"gptq_moe_act_order", true, true},
                      Folder{"awq", true, false}, Folder{"fp8_blocks", true, false},
                      Folder{"fp8_blocks_moe", true, false}, Folder{"fp8_tensor", true, false},
                      Folder{"fp8_rows", true, false}, Folder{"fp8_e5m2", true, false},
                      Folder{"ct_int4", true, false}, Folder{"ct_int4_zeros", true, false},
                      Folder{"ct_int8", true, false}, Folder{"ct_float8", true, false},
                      Folder{"ct_float8_blocks", true, false}, Folder{"ct_nvfp4", true, false},
                      Folder{"ct_mxfp4", true, false}, Folder{"mxfp4", true, false},
                      Folder{"modelopt_nvfp4", true, false}, Folder{"bnb_nf4", true, false},
                      Folder{"bnb_fp4", true, false}, Folder{"bnb_int8", true, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml
