// Exported GGUF files against those that the package gguf wrote of the same models.
#include "frontend/gguf/export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "frontend/gguf/config.h"
#include "frontend/gguf/model.h"
#include "io/gguf_quantize.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "support/golden_path.h"

namespace tapml::frontend {
namespace {

using ::tapml::testing::golden_path;

GgufFile open_file(const std::string& path) {
  const MappedFile mapped = unwrap(map_file(path));
  return unwrap(parse_gguf(mapped.bytes, mapped.owner, path));
}

std::vector<std::byte> image_of(const GgufExport& plan) {
  std::vector<std::byte> image = write_gguf_header(plan.metadata, plan.infos);
  for (size_t i = 0; i < plan.infos.size(); ++i) {
    const GgufTensorInfo& info = plan.infos[i];
    const GgufRows rows = plan.tensors[i].open();
    std::vector<float> row(static_cast<size_t>(info.shape.back()));
    const size_t begin = image.size();
    for (int64_t j = 0; j < element_count(info.shape) / info.shape.back(); ++j) {
      rows(j, row);
      std::vector<std::byte> bytes(gguf_bytes(*info.type, {info.shape.back()}));
      quantize_gguf(*info.type, row, bytes.data());
      image.insert(image.end(), bytes.begin(), bytes.end());
    }
    image.resize(begin + gguf_padded_bytes(image.size() - begin));
  }
  return image;
}

std::vector<float> values_of(const GgufTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  dequantize_gguf(*tensor.type, tensor.bytes.data(), values);
  return values;
}

// Numbers as files have them, f32.
bool same_value(const GgufValue& a, const GgufValue& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return x && y ? static_cast<float>(*x) == static_cast<float>(*y) : a == b;
}

// Of a golden file, whose published form it becomes first.
GgufExport exported(const std::string& path, const std::string& type) {
  const GgufFile file = open_file(path);
  const GgufFields fields(file, path);
  const std::string config = gguf_config(find_gguf_architecture(fields), fields);
  auto files = std::make_shared<const WeightFiles>(open_gguf_weights(path));
  return plan_gguf_export(read_published_decoder(config, "config.json"), std::move(files), "",
                          find_gguf_file_type(type), nullptr);
}

std::vector<std::string> exported_models() {
  // Their matrices are blocks.
  const std::set<std::string> blocks = {"llama_blocks", "llama_k_quants", "qwen3_moe_blocks"};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("gguf"))) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && !blocks.contains(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

class GgufExportOf : public ::testing::TestWithParam<std::string> {};

TEST_P(GgufExportOf, HasTheTensorsAndKeysOfTheConverter) {
  const std::string path = golden_path("gguf/" + GetParam() + "/model.gguf");
  const GgufFile expected = open_file(path);
  const std::vector<std::byte> image = image_of(exported(path, "F32"));
  const GgufFile written = unwrap(parse_gguf(image, nullptr, "written"));
  for (const auto& [key, value] : expected.metadata) {
    const GgufValue* own = written.find(key);
    ASSERT_NE(own, nullptr) << key;
    EXPECT_TRUE(same_value(*own, value)) << key;
  }
  // What the published form does not say, or the converter does not write.
  const std::set<std::string> further = {"general.type", "general.file_type"};
  for (const auto& [key, value] : written.metadata) {
    EXPECT_TRUE(further.contains(key) || expected.find(key)) << key;
  }
  EXPECT_EQ(written.tensors.size(), expected.tensors.size());
  const GgufFields fields(written, "written");
  for (const GgufTensor& tensor : expected.tensors) {
    const GgufTensor* own = fields.tensor(tensor.name);
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_EQ(own->size(), tensor.size()) << tensor.name;
    EXPECT_EQ(own->type->name, "F32");
    if (tensor.name.starts_with("rope_freqs")) {  // a quotient of frequencies in f32
      for (size_t i = 0; i < values_of(*own).size(); ++i) {
        EXPECT_NEAR(values_of(*own)[i], values_of(tensor)[i], 1e-5);
      }
      continue;
    }
    EXPECT_EQ(values_of(*own), values_of(tensor)) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GgufExportOf, ::testing::ValuesIn(exported_models()),
                         [](const auto& info) { return info.param; });

// How many tensors of each type a file of Llama 2's sizes gets, as llama.cpp lists them.
std::map<std::string_view, int> types_of(const std::string& name, const GgufMixture& mixture,
                                         int64_t hidden, int64_t inner) {
  const GgufFileType& file = find_gguf_file_type(name);
  std::map<std::string_view, int> counts;
  const auto add = [&](const std::string& tensor, const Shape& shape) {
    ++counts[gguf_tensor_type(file, mixture, tensor + ".weight", shape).name];
  };
  add("token_embd", {32000, hidden});
  add("output_norm", {hidden});
  if (!mixture.is_tied) add("output", {32000, hidden});
  for (int64_t layer = 0; layer < mixture.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      add(block + part, {hidden, hidden});
    }
    for (const char* part : {"ffn_gate", "ffn_up"}) add(block + part, {inner, hidden});
    add(block + "ffn_down", {hidden, inner});
    for (const char* part : {"attn_norm", "ffn_norm"}) add(block + part, {hidden});
  }
  return counts;
}

TEST(GgufFileTypes, MixturesAreThoseOfLlamaQuantize) {
  using Counts = std::map<std::string_view, int>;
  const GgufMixture llama2 = {.layers = 32, .heads = 32, .kv_heads = 32};
  const auto of = [&](const char* name) { return types_of(name, llama2, 4096, 11008); };
  EXPECT_EQ(of("Q4_K_M"), (Counts{{"F32", 65}, {"Q4_K", 193}, {"Q6_K", 33}}));
  EXPECT_EQ(of("Q5_K_M"), (Counts{{"F32", 65}, {"Q5_K", 193}, {"Q6_K", 33}}));
  EXPECT_EQ(of("q4_k_s"), (Counts{{"F32", 65}, {"Q4_K", 217}, {"Q5_K", 8}, {"Q6_K", 1}}));
  EXPECT_EQ(of("Q3_K"),
            (Counts{{"F32", 65}, {"Q3_K", 129}, {"Q4_K", 92}, {"Q5_K", 4}, {"Q6_K", 1}}));
  EXPECT_EQ(of("Q2_K"), (Counts{{"F32", 65}, {"Q2_K", 129}, {"Q3_K", 96}, {"Q6_K", 1}}));
  EXPECT_EQ(of("Q4_0"), (Counts{{"F32", 65}, {"Q4_0", 225}, {"Q6_K", 1}}));
  EXPECT_EQ(of("Q8_0"), (Counts{{"F32", 65}, {"Q8_0", 226}}));
  EXPECT_EQ(of("BF16"), (Counts{{"F32", 65}, {"BF16", 226}}));
}

// Rows of 576 are no whole blocks of 256, those of 1536 are.
TEST(GgufFileTypes, RowsThatDoNotFitGetBlocksOf32) {
  using Counts = std::map<std::string_view, int>;
  const GgufMixture smollm = {.layers = 30, .heads = 9, .kv_heads = 3, .is_tied = true};
  EXPECT_EQ(types_of("Q4_K_M", smollm, 576, 1536),
            (Counts{{"F32", 61}, {"Q5_0", 166}, {"Q8_0", 15}, {"Q4_K", 16}, {"Q6_K", 14}}));
  EXPECT_EQ(
      gguf_tensor_type(find_gguf_file_type("Q2_K"), smollm, "blk.0.ffn_up.weight", {8, 40}).name,
      "F16");
}

TEST(GgufFileTypes, UnknownOnesAreListed) {
  const auto unknown = guard([] { find_gguf_file_type("Q7_K"); });
  ASSERT_FALSE(unknown);
  const std::string text = unknown.error().to_string();
  for (const char* part : {"\"Q7_K\"", "Q4_K_M", "IQ4_NL", "--type"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(GgufExport, ConvertsAFileToAnotherType) {
  const std::string path = golden_path("gguf/llama_k_quants/model.gguf");
  const GgufExport plan = plan_gguf_conversion(path, find_gguf_file_type("Q8_0"));
  const std::vector<std::byte> image = image_of(plan);
  const GgufFile before = open_file(path);
  const GgufFile after = unwrap(parse_gguf(image, nullptr, "written"));
  ASSERT_EQ(after.tensors.size(), before.tensors.size());
  for (size_t i = 0; i < after.tensors.size(); ++i) {
    const GgufTensor& tensor = after.tensors[i];
    EXPECT_EQ(tensor.type->name, tensor.shape.size() == 1 ? "F32" : "Q8_0");
    const std::vector<float> a = values_of(before.tensors[i]), b = values_of(tensor);
    double error = 0, square = 0;
    for (size_t j = 0; j < a.size(); ++j) {
      error += std::pow(a[j] - b[j], 2);
      square += std::pow(a[j], 2);
    }
    EXPECT_LT(std::sqrt(error / square), 0.008) << tensor.name;
  }
  EXPECT_EQ(std::get<int64_t>(*after.find("general.file_type")), 7);
}

TEST(GgufExport, RefusesByName) {
  const auto refused = [](const std::string& config) {
    auto files = std::make_shared<const WeightFiles>();
    const auto plan = guard([&] {
      plan_gguf_export(read_published_decoder(config, "config.json"), files, "",
                       find_gguf_file_type("F32"), nullptr);
    });
    return plan ? std::string() : plan.error().to_string();
  };
  const auto expect_part = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in\n" << text;
  };
  expect_part(refused(R"({"model_type": "bert"})"), "encoder");
  expect_part(refused(R"({"model_type": "mamba2"})"), "mamba2");
  expect_part(refused(R"({"model_type": "bloom"})"), "bloom is not exported to GGUF files");
  // llama.cpp has one window for all of Gemma 2's layers of a kind, and no other pattern.
  const std::string gemma2 = R"({"model_type": "gemma2", "hidden_size": 32, "head_dim": 16,
      "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "vocab_size": 67, "max_position_embeddings": 128,
      "sliding_window": 6, "query_pre_attn_scalar": )";
  expect_part(refused(gemma2 + "24}"), "no keys for all that this model computes");
}

}  // namespace
}  // namespace tapml::frontend
