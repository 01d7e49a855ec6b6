// Quantization on import: the resulting integers and scales, and invalid weights.
#include "frontend/huggingface/quantize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "abi/model_interface.h"
#include "support/expect_error.h"
#include "support/quantized_models.h"
#include "tensor/packed_levels.h"

namespace tapml::frontend {
namespace {

using models::Quantization;

models::WeightLayout layout(const char* name) { return models::parse_layout(name, "test"); }
using testing::expect_user_error;

models::WeightSpec matrix(Shape shape) { return {"w", std::move(shape), {}, true}; }

int level(const QuantizedWeight& weight, int64_t i) {
  const int byte = weight.packed.values<uint8_t>()[static_cast<size_t>(i / 2)];
  return (i % 2 == 0 ? byte & 15 : byte >> 4) - 8;
}

TEST(Quantize, LevelsOfAGroup) {
  HostTensor weight = HostTensor::zeros(DType::kF32, {2, 64});
  // Multiples of one scale are restored exactly, whatever the sign of the largest element.
  const std::vector<float> values = {-16, 14, 4, 6, -4, 2, 0, -14};
  for (size_t i = 0; i < values.size(); ++i) {
    weight.mutable_values<float>()[i] = values[i];
    weight.mutable_values<float>()[64 + i] = -values[i];
  }
  weight.mutable_values<float>()[96] = 0.5f;  // the last group's only element
  for (const char* name : {"q4f32", "q4f16"}) {
    const QuantizedWeight result =
        quantize_weight(matrix({2, 64}), std::span(&weight, 1), layout(name), "file");
    EXPECT_EQ(result.packed.shape(), (Shape{2, 32}));
    EXPECT_EQ(result.scales.shape(), (Shape{2, 2}));
    EXPECT_EQ(result.scales.at_f64(0), 2);
    EXPECT_EQ(result.scales.at_f64(1), 0);
    EXPECT_FALSE(std::signbit(result.scales.at_f64(1)));
    EXPECT_EQ(result.scales.at_f64(2), -2);
    EXPECT_EQ(result.scales.at_f64(3), -0.0625);
    const std::vector<int> levels = {-8, 7, 2, 3, -2, 1, 0, -7};
    for (size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(level(result, static_cast<int64_t>(i)), levels[i]) << i;
      EXPECT_EQ(level(result, static_cast<int64_t>(64 + i)), levels[i]) << i;
    }
    // The first of two neighbors is the low half.
    EXPECT_EQ(result.packed.values<uint8_t>()[0], 0 + 16 * 15);
    for (int64_t i = 32; i < 64; ++i) EXPECT_EQ(level(result, i), 0);
    EXPECT_EQ(level(result, 96), -8);
  }
}

// The squared error that a rule leaves in a group: the scale is `largest` / `levels`.
double error_of_rule(std::span<const float> group, double divisor, int lowest, int highest) {
  float largest = 0;
  for (const float x : group) {
    if (std::fabs(x) > std::fabs(largest)) largest = x;
  }
  const double scale = largest / divisor;
  double error = 0;
  for (const float x : group) {
    const double level =
        scale != 0 ? std::clamp(std::nearbyint(x / scale), double(lowest), double(highest)) : 0;
    error += (level * scale - x) * (level * scale - x);
  }
  return error;
}

TEST(Quantize, HasLessErrorThanRulesWithoutSearch) {
  constexpr int64_t kGroups = 99;
  for (const char* name : {"q4f32", "q4f16"}) {
    for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const HostTensor weight = testing::random_weight(11, matrix({33, 96}), dtype);
      const QuantizedWeight result =
          quantize_weight(matrix({33, 96}), std::span(&weight, 1), layout(name), "file");
      double all = 0, by_magnitude = 0;
      for (int64_t g = 0; g < kGroups; ++g) {
        const double scale = result.scales.at_f64(g);
        std::vector<float> group;
        double own = 0;
        for (int64_t i = 32 * g; i < 32 * g + 32; ++i) {
          group.push_back(static_cast<float>(weight.at_f64(i)));
          const int at = level(result, i);
          const double error = std::abs(at * scale - weight.at_f64(i));
          own += error * error;
          // The nearest level; values beyond the last level have any error.
          if (at > -8 && at < 7) {
            EXPECT_LE(error, std::abs(scale) * (0.5 + 1e-6)) << name << " " << dtype_name(dtype);
          }
        }
        // f16 may round the scale away from the optimum.
        EXPECT_LE(own, error_of_rule(group, -8, -8, 7) * (name[3] == '1' ? 1.02 : 1.0001));
        all += own;
        by_magnitude += error_of_rule(group, 7, -7, 7);
      }
      EXPECT_LT(all, 0.75 * by_magnitude);
      EXPECT_GT(all, 0.4 * by_magnitude) << "too good to be four bits";
    }
  }
}

TEST(Quantize, ElementsOfAnySizeKeepTheirSize) {
  for (const float size : {1e-42f, 1e-30f, 1e-12f, 1e12f, 1e30f, 3e38f}) {
    HostTensor weight = HostTensor::zeros(DType::kF32, {1, 32});
    for (size_t i = 0; i < 32; ++i) {
      weight.mutable_values<float>()[i] = size * std::sin(static_cast<float>(i));
    }
    const QuantizedWeight result =
        quantize_weight(matrix({1, 32}), std::span(&weight, 1), layout("q4f32"), "file");
    for (int64_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(level(result, i) * result.scales.at_f64(0) / size,
                  std::sin(static_cast<double>(i)), size < 1e-40f ? 0.2 : 0.15)
          << size;
    }
  }
}

TEST(Quantize, PartsEqualTheWhole) {
  const HostTensor weight = testing::random_weight(3, matrix({6, 32}), DType::kBF16);
  std::vector<HostTensor> parts;
  for (size_t part = 0; part < 3; ++part) {
    parts.push_back(
        HostTensor::from(DType::kBF16, {2, 32}, weight.values<uint16_t>().subspan(part * 64, 64)));
  }
  const models::WeightLayout halves = layout("q4f16");
  const QuantizedWeight whole =
      quantize_weight(matrix({6, 32}), std::span(&weight, 1), halves, "file");
  const QuantizedWeight stacked = quantize_weight(matrix({3, 2, 32}), parts, halves, "file");
  EXPECT_EQ(stacked.packed.shape(), (Shape{3, 2, 16}));
  EXPECT_EQ(stacked.scales.shape(), (Shape{3, 2, 1}));
  EXPECT_TRUE(std::ranges::equal(stacked.packed.bytes(), whole.packed.bytes()));
  EXPECT_TRUE(std::ranges::equal(stacked.scales.bytes(), whole.scales.bytes()));
}

TEST(Quantize, RefusesWeightsWithoutAScale) {
  HostTensor weight = HostTensor::zeros(DType::kF32, {1, 32});
  auto quantize = [&](const char* name) {
    quantize_weight(matrix({1, 32}), std::span(&weight, 1), layout(name), "m/file");
  };
  weight.set_f64(5, 1e6);
  quantize("q4f32");
  expect_user_error([&] { quantize("q4f16"); },
                    {"weight \"w\" cannot be quantized", "m/file", "scales that fit f16"});
  weight.set_f64(5, NAN);
  expect_user_error([&] { quantize("q4f32"); }, {"\"w\"", "finite elements", "row 0"});
}

// What the levels of a weight stand for.
std::vector<double> values_of(const QuantizedWeight& weight, const models::WeightLayout& layout,
                              int64_t columns) {
  std::vector<double> values;
  const std::byte* bytes = weight.packed.bytes().data();
  const int64_t rows = weight.scales.size() * layout.group / columns;
  const int zero = layout.has_minimums ? 0 : 1 << (layout.bits - 1);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const std::byte* row = bytes + i / columns * packed_row_bytes(columns, layout.bits);
    const int level = layout.is_whole() ? static_cast<int8_t>(row[i % columns])
                                        : level_at(row, columns, layout.bits, i % columns) - zero;
    const int64_t group = i / layout.group;
    values.push_back(level * weight.scales.at_f64(group) +
                     (weight.minimums ? weight.minimums->at_f64(group) : 0));
  }
  return values;
}

// The error halves with each bit, is less with minimums, and more in larger groups.
TEST(Quantize, ErrorFollowsTheLayout) {
  const HostTensor weight = testing::random_weight(5, matrix({16, 256}), DType::kF32);
  const auto error_of = [&](const std::string& name) {
    const models::WeightLayout own = layout(name.c_str());
    const QuantizedWeight result =
        quantize_weight(matrix({16, 256}), std::span(&weight, 1), own, "file");
    EXPECT_EQ(result.packed.shape(), (Shape{16, 256 * own.bits / 8})) << name;
    EXPECT_EQ(result.minimums.has_value(), own.has_minimums) << name;
    const std::vector<double> values = values_of(result, own, 256);
    double error = 0, all = 0;
    for (int64_t i = 0; i < weight.size(); ++i) {
      error += std::pow(values[static_cast<size_t>(i)] - weight.at_f64(i), 2);
      all += std::pow(weight.at_f64(i), 2);
    }
    return std::sqrt(error / all);
  };
  for (const char* end : {"f32", "f16", "f32g64", "f16g128", "f32m", "f16g64m"}) {
    double coarser = error_of(std::string("q2") + end);
    EXPECT_LT(coarser, 0.5) << end;
    for (const char* bits : {"q3", "q4", "q5", "q6"}) {
      const double own = error_of(std::string(bits) + end);
      EXPECT_LT(own, 0.6 * coarser) << bits << end;
      EXPECT_GT(own, 0.3 * coarser) << bits << end;
      coarser = own;
    }
    EXPECT_LT(error_of(std::string("q8") + end), 0.4 * coarser) << end;
  }
  EXPECT_LT(error_of("q3f32m"), error_of("q3f32"));
  EXPECT_LT(error_of("q4f32"), error_of("q4f32g64"));
}

// One sign, a constant, and no element but one: minimums take what is common.
TEST(Quantize, MinimumsOfUnevenGroups) {
  HostTensor weight = HostTensor::zeros(DType::kF32, {1, 96});
  for (int64_t i = 0; i < 32; ++i) {
    weight.set_f64(i, 100 + static_cast<double>(i % 16));
    weight.set_f64(32 + i, -7.5);
  }
  weight.set_f64(64, -3);
  for (const char* name : {"q4f32m", "q8f32m"}) {
    const models::WeightLayout own = layout(name);
    const std::vector<double> values =
        values_of(quantize_weight(matrix({1, 96}), std::span(&weight, 1), own, "file"), own, 96);
    for (int64_t i = 0; i < 96; ++i) {
      EXPECT_NEAR(values[static_cast<size_t>(i)], weight.at_f64(i), 1e-4) << name << " " << i;
    }
  }
}

TEST(QuantizedLayouts, HaveNames) {
  for (const char* name : {"q4f32", "q4f16", "q2f16m", "q3f16g64m", "q8f32g128", "q6f32m"}) {
    EXPECT_EQ(models::layout_name(layout(name)), name);
  }
  EXPECT_EQ(models::layout_name({.bits = 4, .group = 16}), std::nullopt);
  EXPECT_EQ(models::layout_name({.bits = 4, .format = "e2m1"}), std::nullopt);
  for (const char* name : {"", "q", "q4", "q7f16", "q4f64", "q4f16g", "q4f16g48", "q4f16x",
                           "q4f16mg64", "4f16", "q-4f16", "q44f16", "q4f16m "}) {
    expect_user_error([&] { layout(name); }, {"unknown layout", "q3f16g64m"});
  }
}

TEST(QuantizedLayouts, OfWeightsByRules) {
  const auto rules = Quantization::parse("q4f16,*.down_proj.*=q6f32,*.1.*=none,lm_head*=q8f16");
  EXPECT_EQ(rules->activations(), DType::kF16);
  const auto name_of = [&](const char* name, bool linear, bool expands) -> std::string {
    const auto own = rules->layout_of(
        {.name = name, .shape = {64, 64}, .parts = {}, .linear = linear, .expands = expands});
    return own ? models::layout_name(*own).value() : "none";
  };
  EXPECT_EQ(name_of("layers.0.q_proj.weight", true, true), "q4f16");
  EXPECT_EQ(name_of("layers.0.down_proj.weight", true, true), "q6f32");
  EXPECT_EQ(name_of("layers.1.down_proj.weight", true, true), "none") << "the last rule counts";
  EXPECT_EQ(name_of("lm_head.weight", false, true), "q8f16");
  EXPECT_EQ(name_of("embed.weight", false, true), "none") << "only rules reach it";
  EXPECT_EQ(name_of("lm_head.bias", false, false), "none");
  EXPECT_EQ(Quantization::parse("lm_head*=q8f16")->activations(), DType::kF32);
  for (const auto& [text, part] : {std::pair{"none", "leaves all weights as they are"},
                                   {"q4f16,q4f32", "two layouts"},
                                   {"q4f16,=q4f16", "has no pattern"},
                                   {"q4f16,a=", "unknown layout"},
                                   {"q4f16,", "two layouts"}}) {
    expect_user_error([&] { Quantization::parse(text); }, {part, "--quantize"});
  }
}

TEST(QuantizedFolder, HasTheLayoutsOfItsRules) {
  testing::TempFolder folder;
  testing::write_model(folder, testing::kQuantizedLlama);
  const HuggingFaceModel model = read_model(
      folder.path(), Quantization::parse("q3f16m,*embed*=q5f32,lm_head*=q8f16,*.o_proj.*=none"));
  const auto names = unwrap(model_interface_of(model.module.all_attrs())).weights;
  EXPECT_EQ(names.size(), model.weights.size());
  for (const std::string& name : names) EXPECT_TRUE(model.weights.contains(name)) << name;
  const std::string layer = "model.layers.0.";
  EXPECT_EQ(model.weights.at(layer + "mlp.down_proj.weight.packed").shape(), (Shape{64, 36}));
  EXPECT_EQ(model.weights.at(layer + "mlp.down_proj.weight.minimums").dtype(), DType::kF16);
  EXPECT_EQ(model.weights.at("model.embed_tokens.weight.packed").shape(), (Shape{67, 40}));
  EXPECT_EQ(model.weights.at("lm_head.weight.packed").dtype(), DType::kI8);
  EXPECT_TRUE(model.weights.contains(layer + "self_attn.o_proj.weight"));
  expect_user_error([&] { read_model(folder.path(), Quantization::parse("q4f16,*norm*=q4f16")); },
                    {"\"*norm*\" matches no weight", "model.embed_tokens.weight"});
}

TEST(QuantizedFolder, HasTwoParametersALinearWeight) {
  testing::TempFolder folder;
  testing::write_model(folder, testing::kQuantizedMoe);
  const HuggingFaceModel model = read_model(folder.path(), Quantization::parse("q4f16"));
  const auto names = unwrap(model_interface_of(model.module.all_attrs())).weights;
  EXPECT_EQ(names.size(), model.weights.size());
  for (const std::string& name : names) EXPECT_TRUE(model.weights.contains(name)) << name;
  const std::string experts = "model.layers.0.mlp.experts.gate_proj.weight";
  EXPECT_EQ(model.weights.at(experts + ".packed").shape(), (Shape{5, 32, 32}));
  EXPECT_EQ(model.weights.at(experts + ".scales").shape(), (Shape{5, 32, 2}));
  EXPECT_EQ(model.weights.at(experts + ".scales").dtype(), DType::kF16);
  EXPECT_EQ(model.sources.at(experts).parts.size(), 5u);
  // Embedding, head, norms, router and gate are not quantized.
  for (const char* kept :
       {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
        "model.layers.0.input_layernorm.weight", "model.layers.0.mlp.gate.weight",
        "model.layers.0.mlp.shared_expert_gate.weight", "model.layers.0.self_attn.q_proj.bias"}) {
    EXPECT_TRUE(model.weights.contains(kept)) << kept;
  }
  EXPECT_FALSE(model.weights.contains(experts));
}

TEST(QuantizedFolder, HashesAreThoseOfTheSources) {
  testing::TempFolder folder;
  testing::write_model(folder, testing::kQuantizedMoe);
  const HuggingFaceModel plain = read_model(folder.path());
  const HuggingFaceModel model = read_model(folder.path(), Quantization::parse("q4f16"));
  for (const auto& [name, tensor] : plain.weights) {
    EXPECT_EQ(model.sources.at(name).hash(tensor.shape()), content_hash(tensor)) << name;
  }
}

TEST(QuantizedFolder, RefusesRowsThatAreNoWholeGroups) {
  testing::TempFolder folder;
  std::string config = testing::kQuantizedLlama;
  config.replace(config.find("96"), 2, "80");
  testing::write_model(folder, config);
  read_model(folder.path());
  expect_user_error([&] { read_model(folder.path(), Quantization::parse("q4f32")); },
                    {"model.layers.0.mlp.down_proj.weight", "a multiple of 32", "[64, 80]"});
}

}  // namespace
}  // namespace tapml::frontend
