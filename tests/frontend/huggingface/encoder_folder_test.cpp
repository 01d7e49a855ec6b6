// Model folders of encoders: names of weights, and what sentence-transformers writes beside them.
#include <gtest/gtest.h>

#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace tapml::frontend {
namespace {

using models::Pooling;
using testing::expect_user_error;

constexpr const char* kBert = R"({
  "architectures": ["BertModel"], "vocab_size": 10, "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16,
  "model_type": "bert", "torch_dtype": "float32"
})";
constexpr const char* kModules = R"([
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
])";

class EncoderFolder : public ::testing::Test {
 protected:
  EncoderFolder() {
    write("config.json", kBert);
    for (const auto& spec : parse_config(kBert, "config.json").weights()) {
      tensors_[spec.name] = HostTensor::zeros(DType::kF32, spec.shape);
    }
  }
  void write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    ASSERT_TRUE(write_text_atomic(folder_ / name, text));
  }
  // `rename`: the name in the file of each weight.
  HuggingFaceModel read(const std::function<std::string(const std::string&)>& rename = {},
                        const PoolingChoice& choice = {}) {
    std::map<std::string, HostTensor> stored = extra_;
    for (const auto& [name, tensor] : tensors_) stored[rename ? rename(name) : name] = tensor;
    EXPECT_TRUE(write_file_atomic(folder_ / "model.safetensors", write_safetensors(stored)));
    return read_model(folder_.path(), nullptr, {}, {}, choice);
  }
  void refuses(const std::vector<std::string>& parts) {
    expect_user_error([&] { read(); }, parts);
  }
  void add(const std::string& name, DType dtype = DType::kF32) {
    extra_[name] = HostTensor::zeros(dtype, {1, 16});
  }

  testing::TempFolder folder_;
  std::map<std::string, HostTensor> tensors_, extra_;
};

std::string bare(const std::string& name) { return name.substr(name.find('.') + 1); }

TEST_F(EncoderFolder, NamesWithAndWithoutThePrefix) {
  EXPECT_TRUE(read().warnings.empty());
  EXPECT_TRUE(read(bare).warnings.empty());
}

TEST_F(EncoderFolder, WeightsOfHeadsAndPositionsAreNoNews) {
  for (const char* name : {"pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids"}) {
    add(name);
  }
  EXPECT_TRUE(read(bare).warnings.empty());
  add("classifier.weight");
  const auto warnings = read(bare).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("classifier.weight"), std::string::npos) << warnings[0];
}

TEST_F(EncoderFolder, NormsOfTheFirstFiles) {
  const auto early = [](std::string name) {
    for (const auto& [now, then] : {std::pair{".LayerNorm.weight", ".LayerNorm.gamma"},
                                    std::pair{".LayerNorm.bias", ".LayerNorm.beta"}}) {
      const std::string_view end = now;
      if (name.ends_with(end)) name.replace(name.size() - end.size(), end.size(), then);
    }
    return name;
  };
  const HuggingFaceModel model = read(early);
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_TRUE(model.weights.contains("bert.embeddings.LayerNorm.weight"));
}

TEST_F(EncoderFolder, PoolingWithoutFilesIsTheNormalizedMean) {
  const models::PoolingConfig pooling = read().config.pooling;
  EXPECT_EQ(pooling.pooling, Pooling::kMean);
  EXPECT_TRUE(pooling.normalized);
}

TEST_F(EncoderFolder, PoolingOfFiles) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 8,
    "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(read().config.pooling.pooling, Pooling::kFirstToken);
  EXPECT_TRUE(read().config.pooling.normalized);
  write("1_Pooling/config.json", R"({"embedding_dimension": 8, "pooling_mode": "mean"})");
  EXPECT_EQ(read().config.pooling.pooling, Pooling::kMean);
  write("modules.json", R"([{"path": "1_Pooling", "type": "a.b.Pooling"}])");
  EXPECT_FALSE(read().config.pooling.normalized);
  const models::PoolingConfig chosen = read({}, {Pooling::kFirstToken, true}).config.pooling;
  EXPECT_EQ(chosen.pooling, Pooling::kFirstToken);
  EXPECT_TRUE(chosen.normalized);
}

TEST_F(EncoderFolder, RefusesOtherPoolings) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  refuses({"1_Pooling/config.json", "pooling_mode_max_tokens", "--pooling"});
  EXPECT_EQ(read({}, {Pooling::kMean, {}}).config.pooling.pooling, Pooling::kMean);
  write("1_Pooling/config.json",
        R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})");
  refuses({"pooling_mode_cls_token", "beside another pooling"});
  write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": false})");
  refuses({"pooling_mode_mean_tokens", "no other pooling is"});
  write("1_Pooling/config.json", R"({"pooling_mode": "lasttoken"})");
  refuses({"pooling_mode", "\"mean\" or \"cls\""});
  write("modules.json", R"([{"path": "../x", "type": "Pooling"}])");
  refuses({"path", "../x"});
  write("modules.json", R"([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  refuses({"type", "Transformer, Pooling or Normalize"});
  write("modules.json", R"([{"path": "", "type": "Transformer"}])");
  refuses({"modules.json", "no pooling"});
  write("modules.json", "{}");
  refuses({"modules.json", "not an array"});
}

TEST_F(EncoderFolder, RefusesWhatTheConfigurationCannotExpress) {
  for (const auto& [field, part] :
       {std::pair{"\"is_decoder\": true", "is_decoder"},
        std::pair{"\"position_embedding_type\": \"relative_key\"", "position_embedding_type"}}) {
    std::string config = kBert;
    config.insert(config.rfind('}'), std::string(", ") + field);
    expect_user_error([&] { parse_config(config, "config.json"); }, {part});
  }
}

TEST_F(EncoderFolder, DecodersHaveNoPooling) {
  const std::string demo = std::string(TAPML_SOURCE_DIR) + "/models/demo";
  expect_user_error([&] { read_model(demo, nullptr, {}, {}, {Pooling::kMean, {}}); },
                    {"--pooling", "llama"});
}

}  // namespace
}  // namespace tapml::frontend
