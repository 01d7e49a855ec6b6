// Model directories: a single file or shards, and every possible fault.
#include "frontend/huggingface/model.h"

#include <gtest/gtest.h>

#include <optional>

#include "abi/model_interface.h"
#include "model_folder.h"
#include "relax/expr.h"

namespace tapml::frontend {
namespace {

TEST_F(HuggingFaceFolder, OneFile) {
  write_all();
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  EXPECT_EQ(model.eos, std::vector<int32_t>{2});
  EXPECT_EQ(model.folder, folder_.string());
  EXPECT_TRUE(model.warnings.empty());
  ModelInterface interface = unwrap(model_interface_of(model.module.all_attrs()));
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

TEST_F(HuggingFaceFolder, GenerationConfigDefinesTheEndTokens) {
  write_all();
  write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  EXPECT_EQ(read().eos, (std::vector<int32_t>{3, 4}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(read().eos, std::vector<int32_t>{});
  write("generation_config.json", "{}");
  EXPECT_EQ(read().eos, std::vector<int32_t>{2});
  write("generation_config.json", R"({"eos_token_id": 10})");
  ASSERT_EQ(read().warnings.size(), 2u);
  EXPECT_NE(read().warnings[0].find("eos_token_id of config.json (2)"), std::string::npos);
  EXPECT_NE(read().warnings[1].find("eos_token_id 10"), std::string::npos);
  write("generation_config.json", R"({"eos_token_id": [2, 4]})");
  EXPECT_TRUE(read().warnings.empty());
}

TEST_F(HuggingFaceFolder, ExtraWeightsAreAWarning) {
  tensors_["surplus"] = HostTensor::zeros(DType::kF32, {3});
  tensors_["model.layers.0.self_attn.rotary_emb.inv_freq"] = HostTensor::zeros(DType::kF32, {2});
  tensors_["transformer.rotary_pos_emb.inv_freq"] = HostTensor::zeros(DType::kF32, {2});
  write_all();
  HuggingFaceModel model = read();
  EXPECT_EQ(model.weights.count("surplus"), 0u);
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_NE(model.warnings[0].find("\"surplus\""), std::string::npos);
  EXPECT_EQ(model.warnings[0].find("rotary"), std::string::npos);
}

TEST_F(HuggingFaceFolder, TiedHeadMayBeStored) {
  tie();
  tensors_["lm_head.weight"] = tensors_.at("model.embed_tokens.weight");
  write_all();
  HuggingFaceModel model = read();
  EXPECT_EQ(model.weights.count("lm_head.weight"), 0u);
  EXPECT_TRUE(model.warnings.empty());
}

TEST_F(HuggingFaceFolder, TiedHeadThatDiffersIsUsed) {
  tie();
  tensors_.at("lm_head.weight").set_f64(3, -1);
  write_all();
  HuggingFaceModel model = read();
  expect_same(model.weights, tensors_);
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_NE(model.warnings[0].find("differ: they are not tied"), std::string::npos);
  const auto interface = unwrap(model_interface_of(model.module.all_attrs()));
  EXPECT_EQ(interface.weights.back(), "lm_head.weight");
  EXPECT_FALSE(model.config.model.tied_embeddings);
}

TEST_F(HuggingFaceFolder, TiedHeadOfAnotherDtypeMayHaveTheSameValues) {
  tie();
  HostTensor& embedding = tensors_.at("model.embed_tokens.weight");
  HostTensor half = HostTensor::zeros(DType::kF16, embedding.shape());
  for (int64_t i = 0; i < half.size(); ++i) half.set_f64(i, embedding.at_f64(i));
  tensors_["lm_head.weight"] = half;
  write_all();
  EXPECT_TRUE(read().warnings.empty());
  EXPECT_EQ(read().weights.count("lm_head.weight"), 0u);
}

TEST_F(HuggingFaceFolder, TiedModelsMayHaveTheHeadAlone) {
  tie();
  const HostTensor shared = tensors_.at("lm_head.weight");
  tensors_.erase("model.embed_tokens.weight");
  write_all();
  HuggingFaceModel model = read();
  EXPECT_TRUE(model.warnings.empty());
  tensors_.erase("lm_head.weight");
  tensors_["model.embed_tokens.weight"] = shared;
  expect_same(model.weights, tensors_);
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
  refuses({"has no config.json"});
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

TEST_F(HuggingFaceFolder, BiasesMustMatchTheConfiguration) {
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

// A layer with three experts, whose separate tensors in the files become one weight.
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
    for (const auto& spec : models::decoder_weights(parse_config(whole, "config.json").model)) {
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

// The form of transformers 5: one tensor with all experts' gate and up projections, and one with
// their down projections.
TEST_F(ExpertsFolder, FusedExperts) {
  write_all();
  const Tensors separate = read().weights;
  for (const char* suffix : {"", ".weight"}) {
    const std::string path = "model.layers.0.mlp.experts.";
    HostTensor both = HostTensor::zeros(DType::kF32, {3, 4, 8});
    HostTensor down = HostTensor::zeros(DType::kF32, {3, 8, 2});
    for (int64_t expert = 0; expert < 3; ++expert) {
      for (int64_t i = 0; i < 16; ++i) {
        both.set_f64(expert * 32 + i,
                     separate.at(path + "gate_proj.weight").at_f64(expert * 16 + i));
        both.set_f64(expert * 32 + 16 + i,
                     separate.at(path + "up_proj.weight").at_f64(expert * 16 + i));
        down.set_f64(expert * 16 + i,
                     separate.at(path + "down_proj.weight").at_f64(expert * 16 + i));
      }
    }
    Tensors fused = tensors_;
    std::erase_if(fused, [&](const auto& named) { return named.first.starts_with(path); });
    fused[path + "gate_up_proj" + suffix] = both;
    fused[path + "down_proj" + suffix] = down;
    write_tensors("model.safetensors", fused);
    HuggingFaceModel model = read();
    expect_same(model.weights, separate);
    EXPECT_TRUE(model.warnings.empty());
    fused[path + "gate_up_proj" + suffix] = HostTensor::zeros(DType::kF32, {3, 5, 8});
    write_tensors("model.safetensors", fused);
    refuses({"gate_up_proj", "another shape", "[3, 4, 8]", "[3, 5, 8]"});
  }
}

TEST_F(ExpertsFolder, WithoutASharedExpert) {
  std::string config = *read_text_file(path("config.json"));
  const std::string field = "\"shared_expert_intermediate_size\": 4";
  config.replace(config.find(field), field.size(), "\"shared_expert_intermediate_size\": 0");
  write("config.json", config);
  std::erase_if(tensors_, [](const auto& named) { return named.first.contains("shared_expert"); });
  write_all();
  HuggingFaceModel model = read();
  EXPECT_TRUE(model.warnings.empty());
  for (const std::string& name : unwrap(model_interface_of(model.module.all_attrs())).weights) {
    EXPECT_FALSE(name.contains("shared_expert")) << name;
  }
}

TEST_F(ExpertsFolder, HeadsOfTheirOwnWidth) {
  std::string config = *read_text_file(path("config.json"));
  config.replace(config.rfind('}'), 1, ", \"head_dim\": 6}");
  write("config.json", config);
  const std::string attention = "model.layers.0.self_attn.";
  tensors_[attention + "q_proj.weight"] = HostTensor::zeros(DType::kF32, {12, 8});
  tensors_[attention + "q_proj.bias"] = HostTensor::zeros(DType::kF32, {12});
  for (const char* name : {"k_proj", "v_proj"}) {
    tensors_[attention + name + ".weight"] = HostTensor::zeros(DType::kF32, {6, 8});
    tensors_[attention + name + ".bias"] = HostTensor::zeros(DType::kF32, {6});
  }
  tensors_[attention + "o_proj.weight"] = HostTensor::zeros(DType::kF32, {8, 12});
  write_all();
  EXPECT_EQ(unwrap(model_interface_of(read().module.all_attrs())).state.front().shape.back(), 6);
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
