// Model directories: one file or shards, and everything that can be wrong with them.
#include "frontend/huggingface/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "abi/model_interface.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "relax/expr.h"
#include "support/expect_error.h"

namespace tapml::frontend {
namespace {

namespace fs = std::filesystem;
using testing::expect_user_error;
using Tensors = std::map<std::string, HostTensor>;

constexpr const char* kConfig = R"({
  "architectures": ["LlamaForCausalLM"], "vocab_size": 10, "hidden_size": 8,
  "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2,
  "num_key_value_heads": 1, "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
  "torch_dtype": "float32", "eos_token_id": 2
})";

class HuggingFaceFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tapml_model_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("config.json", kConfig);
    const auto& llama = models::find_architecture("llama");
    for (const auto& spec : llama.weights(parse_config(kConfig, "config.json").model)) {
      HostTensor tensor = HostTensor::zeros(DType::kF32, spec.shape);
      for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, 0.5 + static_cast<double>(i));
      tensors_[spec.name] = tensor;
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, std::string_view text) const {
    ASSERT_TRUE(write_text_atomic(path(name), text));
  }
  void write_tensors(const std::string& name, const Tensors& tensors) const {
    ASSERT_TRUE(write_file_atomic(path(name), write_safetensors(tensors)));
  }
  void write_all() const { write_tensors("model.safetensors", tensors_); }
  HuggingFaceModel read() const { return read_model(folder_.string()); }
  void refuses(const std::vector<std::string>& parts) const {
    expect_user_error([&] { read(); }, parts);
  }

  // Two shards and their index; `change` may spoil the map of tensors to shards.
  void write_shards(const std::function<void(Json& weight_map)>& change = {}) const {
    Tensors first, second;
    Json map = Json::object();
    for (const auto& [name, tensor] : tensors_) {
      const bool early = first.size() < 5;
      (early ? first : second)[name] = tensor;
      map.set(name, Json::string(early ? "a.safetensors" : "b.safetensors"));
    }
    if (change) change(map);
    Json index = Json::object();
    index.set("metadata", Json::object());
    index.set("weight_map", map);
    write_tensors("a.safetensors", first);
    write_tensors("b.safetensors", second);
    write("model.safetensors.index.json", index.dump(2));
  }

  fs::path folder_;
  Tensors tensors_;
};

void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const HostTensor& other = actual.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(other.bytes().data(), tensor.bytes().data(), tensor.byte_size()), 0)
        << name;
  }
}

TEST_F(HuggingFaceFolder, OneFile) {
  write_all();
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  EXPECT_EQ(model.eos, std::vector<int32_t>{2});
  EXPECT_EQ(model.tokenizer_path, path("tokenizer.json"));
  EXPECT_TRUE(model.warnings.empty());
  ModelInterface interface = model_interface_of(model.module.attrs);
  EXPECT_EQ(interface.weights.size(), tensors_.size());
  EXPECT_EQ(interface.context, 32);
}

TEST_F(HuggingFaceFolder, Shards) {
  write_shards();
  expect_same(read().weights, tensors_);
}

TEST_F(HuggingFaceFolder, WeightsKeepTheDtypeOfTheirFile) {
  auto as = [](const HostTensor& tensor, DType dtype) {
    HostTensor result = HostTensor::zeros(dtype, tensor.shape());
    for (int64_t i = 0; i < tensor.size(); ++i) result.set_f64(i, tensor.at_f64(i));
    return result;
  };
  HostTensor& norm = tensors_.at("model.norm.weight");
  HostTensor& head = tensors_.at("lm_head.weight");
  norm = as(norm, DType::kBF16);
  head = as(head, DType::kF16);
  write_all();
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  const auto* prefill = relax::as_relax_function(model.module.find("prefill"));
  ASSERT_NE(prefill, nullptr);
  std::map<std::string, std::optional<DType>> dtypes;
  for (const auto& param : prefill->params) {
    dtypes[param->name] = relax::as_tensor(param->annotation)->dtype;
  }
  EXPECT_EQ(dtypes["model.norm.weight"], DType::kBF16);
  EXPECT_EQ(dtypes["lm_head.weight"], DType::kF16);
  EXPECT_EQ(dtypes["model.embed_tokens.weight"], DType::kF32);
}

TEST_F(HuggingFaceFolder, GenerationConfigSaysWhatEndsAText) {
  write_all();
  write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  EXPECT_EQ(read().eos, (std::vector<int32_t>{3, 4}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(read().eos, std::vector<int32_t>{});
  write("generation_config.json", "{}");
  EXPECT_EQ(read().eos, std::vector<int32_t>{2});
  write("generation_config.json", R"({"eos_token_id": 10})");
  ASSERT_EQ(read().warnings.size(), 1u);
  EXPECT_NE(read().warnings[0].find("eos_token_id 10"), std::string::npos);
}

TEST_F(HuggingFaceFolder, ExtraWeightsAreAWarning) {
  tensors_["surplus"] = HostTensor::zeros(DType::kF32, {3});
  tensors_["model.layers.0.self_attn.rotary_emb.inv_freq"] = HostTensor::zeros(DType::kF32, {2});
  write_all();
  HuggingFaceModel model = read();
  EXPECT_EQ(model.weights.count("surplus"), 0u);
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_NE(model.warnings[0].find("\"surplus\""), std::string::npos);
  EXPECT_EQ(model.warnings[0].find("rotary"), std::string::npos);
}

TEST_F(HuggingFaceFolder, TiedHeadMayBeStored) {
  std::string config = kConfig;
  config.replace(config.rfind('}'), 1, ", \"tie_word_embeddings\": true}");
  write("config.json", config);
  write_all();
  HuggingFaceModel model = read();
  EXPECT_EQ(model.weights.count("lm_head.weight"), 0u);
  EXPECT_TRUE(model.warnings.empty());
}

TEST_F(HuggingFaceFolder, MissingFiles) {
  expect_user_error([] { read_model("/no/such/folder"); },
                    {"/no/such/folder", "does not exist", "config.json"});
  write("file", "");
  expect_user_error([&] { read_model(path("file")); }, {"is not a folder"});
  expect_user_error([] { read_model(std::string(300, 'a')); },
                    {"cannot be read", "File name too long"});
  refuses({"no weights", "model.safetensors"});
  write_all();
  fs::remove(path("config.json"));
  refuses({"config.json does not exist"});
}

TEST_F(HuggingFaceFolder, EmptyAndTruncatedFiles) {
  write("model.safetensors", "");
  refuses({"model.safetensors"});
  write_all();
  fs::resize_file(path("model.safetensors"), fs::file_size(path("model.safetensors")) - 4);
  refuses({"model.safetensors"});
  write("config.json", "");
  refuses({"config.json"});
  write("config.json", kConfig);
  write_all();
  write("generation_config.json", "{");
  refuses({"generation_config.json"});
}

TEST_F(HuggingFaceFolder, MissingWeights) {
  tensors_.erase("model.norm.weight");
  tensors_.erase("model.layers.0.mlp.up_proj.weight");
  write_all();
  refuses({"weights are missing", "\"model.norm.weight\"", "\"model.layers.0.mlp.up_proj.weight\"",
           "10 of them"});
}

TEST_F(HuggingFaceFolder, BiasesAreThereExactlyWhenTheConfigurationSaysSo) {
  tensors_["model.layers.0.mlp.up_proj.bias"] = HostTensor::zeros(DType::kF32, {12});
  write_all();
  ASSERT_EQ(read().warnings.size(), 1u);
  EXPECT_NE(read().warnings[0].find("\"model.layers.0.mlp.up_proj.bias\""), std::string::npos);

  std::string config = kConfig;
  config.replace(config.rfind('}'), 1, ", \"mlp_bias\": true}");
  write("config.json", config);
  refuses({"weights are missing", "\"model.layers.0.mlp.gate_proj.bias\"",
           "\"model.layers.0.mlp.down_proj.bias\"", "15 weights", "13 of them"});
  tensors_["model.layers.0.mlp.gate_proj.bias"] = HostTensor::zeros(DType::kF32, {12});
  tensors_["model.layers.0.mlp.down_proj.bias"] = HostTensor::zeros(DType::kF32, {12});
  write_all();
  refuses(
      {"\"model.layers.0.mlp.down_proj.bias\"", "another shape", "expected: [8]", "found: [12]"});
  tensors_["model.layers.0.mlp.down_proj.bias"] = HostTensor::zeros(DType::kF32, {8});
  write_all();
  EXPECT_TRUE(read().warnings.empty());
  expect_same(read().weights, tensors_);
}

// A layer with three experts: what files have one by one becomes one weight.
class ExpertsFolder : public HuggingFaceFolder {
 protected:
  void SetUp() override {
    HuggingFaceFolder::SetUp();
    const std::string config = std::string(kConfig).replace(
        std::string(kConfig).find("LlamaForCausalLM"), 16, "Qwen2MoeForCausalLM");
    const std::string fields =
        R"(, "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 2,
        "shared_expert_intermediate_size": 4})";
    const std::string whole = config.substr(0, config.rfind('}')) + fields;
    write("config.json", whole);
    tensors_.clear();
    float value = 0;
    for (const auto& spec :
         models::find_architecture("qwen2_moe").weights(parse_config(whole, "config.json").model)) {
      if (spec.parts.empty()) tensors_[spec.name] = HostTensor::zeros(DType::kF32, spec.shape);
      for (const std::string& part : spec.parts) {
        HostTensor tensor =
            HostTensor::zeros(DType::kF32, Shape(spec.shape.begin() + 1, spec.shape.end()));
        for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, value++);
        tensors_[part] = tensor;
      }
    }
  }
};

TEST_F(ExpertsFolder, PartsBecomeOneWeight) {
  write_all();
  HuggingFaceModel model = read();
  EXPECT_TRUE(model.warnings.empty());
  const HostTensor& gates = model.weights.at("model.layers.0.mlp.experts.gate_proj.weight");
  ASSERT_EQ(gates.shape(), (Shape{3, 2, 8}));
  for (int64_t i = 0; i < gates.size(); ++i) EXPECT_EQ(gates.at_f64(i), static_cast<double>(i));
}

TEST_F(ExpertsFolder, PartsThatAreMissingOrDiffer) {
  const std::string part = "model.layers.0.mlp.experts.1.up_proj.weight";
  const HostTensor right = tensors_.at(part);
  tensors_.erase(part);
  write_all();
  refuses({"weights are missing", part});
  tensors_[part] = HostTensor::zeros(DType::kF32, {2, 9});
  write_all();
  refuses({part, "another shape", "[2, 8]", "[2, 9]"});
  tensors_[part] = HostTensor::zeros(DType::kF16, {2, 8});
  write_all();
  refuses({part, "another dtype", "experts.0.up_proj", "f32", "f16"});
}

TEST_F(HuggingFaceFolder, WeightOfAnotherShape) {
  tensors_["model.norm.weight"] = HostTensor::zeros(DType::kF32, {9});
  write_all();
  refuses({"\"model.norm.weight\"", "another shape", "expected: [8]", "found: [9]"});
}

TEST_F(HuggingFaceFolder, WeightOfAnUnsupportedDtype) {
  tensors_["model.norm.weight"] = HostTensor::zeros(DType::kI32, {8});
  write_all();
  refuses({"\"model.norm.weight\"", "f32, f16 or bf16", "i32"});
}

TEST_F(HuggingFaceFolder, ConfigurationsThatAreRefusedNameTheirFile) {
  write_all();
  std::string config = kConfig;
  config.replace(config.find("\"hidden_size\": 8"), 16, "\"hidden_size\": 0");
  write("config.json", config);
  refuses({path("config.json") + ":2", "hidden_size"});
}

TEST_F(HuggingFaceFolder, BrokenIndexes) {
  write("model.safetensors.index.json", "{}");
  refuses({"weight_map", "is missing"});
  write("model.safetensors.index.json", "not json");
  refuses({"model.safetensors.index.json"});
  for (const char* shard : {"../a.safetensors", "/etc/passwd", "", ".."}) {
    write_shards([&](Json& map) { map.set("model.norm.weight", Json::string(shard)); });
    refuses({"model.norm.weight", "a file name without folders"});
  }
  write_shards([&](Json& map) { map.set("model.norm.weight", Json::integer(3)); });
  refuses({"weight_map.model.norm.weight", "is not a string"});
  write_shards([&](Json& map) { map.set("model.norm.weight", Json::string("c.safetensors")); });
  refuses({"weight file is missing", "c.safetensors"});
  const std::string endless(300, 'a');
  write_shards([&](Json& map) { map.set("model.norm.weight", Json::string(endless)); });
  refuses({"weight file is missing", endless});
  write_shards([&](Json& map) { map.set("model.norm.weight", Json::string("a.safetensors")); });
  refuses({"model.norm.weight", "not in the file that the index names"});
}

TEST_F(HuggingFaceFolder, OnlyTheConfiguration) {
  HuggingFaceModel model = read_config(path("config.json"));
  EXPECT_TRUE(model.weights.empty());
  EXPECT_NE(model.module.find("decode"), nullptr);
  expect_user_error([&] { read_config(path("nothing.json")); }, {"does not exist"});
}

}  // namespace
}  // namespace tapml::frontend
