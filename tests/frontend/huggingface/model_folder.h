// The model folder of a tiny Llama, which tests modify.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "support/expect_error.h"

namespace tapml::frontend {

namespace fs = std::filesystem;
using testing::expect_user_error;
using Tensors = std::map<std::string, HostTensor>;

inline constexpr const char* kConfig = R"({
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
    for (const auto& spec : models::decoder_weights(parse_config(kConfig, "config.json").model)) {
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

  void add_field(const std::string& field) const {
    std::string config = *read_text_file(path("config.json"));
    config.replace(config.rfind('}'), 1, ", " + field + "}");
    write("config.json", config);
  }
  void tie() const { add_field("\"tie_word_embeddings\": true"); }

  // Two shards and their index; `change` may corrupt the map of tensors to shards.
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

inline void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const HostTensor& other = actual.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(other.bytes().data(), tensor.bytes().data(), tensor.byte_size()), 0)
        << name;
  }
}

}  // namespace tapml::frontend
