// Broken model directories, through the program: exit code 2, and a message that says which file,
// what was expected and what was found.
#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::read_bytes;
using testing::write_bytes;

// A copy of the demo model's directory that each test damages.
class BadModel : public ::testing::Test {
 protected:
  void SetUp() override { testing::copy_demo_model(model_); }

  void refused(const std::vector<std::string>& parts) {
    expect_failure({"run", model_, "--prompt", "Emma was", "--max-tokens", "1"}, 2, parts);
  }
  // Writes a safetensors file with this header, and `data` zero bytes behind it.
  void header(const std::string& json, size_t data = 64) {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
    write_bytes(weights_, length + json + std::string(data, '\0'));
  }
  void field(const std::string& from, const std::string& to,
             const std::vector<std::string>& parts) {
    const std::string saved = read_bytes(config_);
    testing::replace_in(config_, from, to);
    SCOPED_TRACE(to);
    refused(parts);
    write_bytes(config_, saved);
  }

  testing::TempFolder folder_;
  const std::string model_ = folder_ / "model";
  const std::string config_ = model_ + "/config.json";
  const std::string weights_ = model_ + "/model.safetensors";
  const std::string tokenizer_ = model_ + "/tokenizer.json";
};

TEST_F(BadModel, MissingFolder) {
  expect_failure({"run", folder_ / "nowhere", "--prompt", "x"}, 2, {"nowhere"});
  expect_failure({"carve", folder_ / "nowhere", "--prompt", "x", "-o", folder_ / "suite"}, 2,
                 {"nowhere"});
  expect_failure({"migrate", folder_ / "nowhere", "--prompt", "x"}, 2, {"nowhere"});
  expect_failure({"compile", folder_ / "nowhere"}, 2, {"nowhere"});
  expect_failure({"replay", folder_ / "nowhere"}, 2, {"nowhere"});
}

TEST_F(BadModel, MissingEmptyAndTruncatedFiles) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    SCOPED_TRACE(name);
    const std::string path = model_ + "/" + name, saved = read_bytes(path);
    std::filesystem::remove(path);
    refused({name});
    write_bytes(path, "");
    refused({name});
    write_bytes(path, saved.substr(0, saved.size() / 2));
    refused({name});
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    refused({name});
    std::filesystem::remove(path);
    write_bytes(path, saved);
  }
}

TEST_F(BadModel, SafetensorsHeaders) {
  write_bytes(weights_, std::string(8, '\x7f') + std::string(100, ' '));
  refused({"model.safetensors", "header"});
  header("{not json");
  refused({"model.safetensors"});
  header(std::string(100000, '['));
  refused({"model.safetensors"});
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})");
  refused({"model.safetensors", "a"});
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8000]}})");
  refused({"model.safetensors", "a"});
  header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})");
  refused({"model.safetensors", "a", "12", "8"});
  header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})");
  refused({"model.safetensors", "b"});
  header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]}})");
  refused({"model.safetensors", "b"});
  header(R"({"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,8]}})");
  refused({"model.safetensors", "a"});
}

TEST_F(BadModel, WeightsMissingExtraOrOfAnotherShape) {
  const std::string saved = read_bytes(weights_);
  // A name of the same length leaves the file well formed.
  testing::replace_in(weights_, "model.layers.3.mlp.up_proj.weight",
                      "model.layers.3.mlp.up_prox.weight");
  refused({"model.layers.3.mlp.up_proj.weight"});
  write_bytes(weights_, saved);
  testing::replace_in(config_, "\"intermediate_size\": 512", "\"intermediate_size\": 256");
  refused({"mlp", "256", "512"});
  testing::replace_in(config_, "\"intermediate_size\": 256", "\"intermediate_size\": 512");
  // More layers in the file than in the configuration: a warning, and it runs.
  testing::replace_in(config_, "\"num_hidden_layers\": 6", "\"num_hidden_layers\": 5");
  testing::ProgramResult result =
      testing::run_program({"run", model_, "--prompt", "Emma was", "--max-tokens", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  EXPECT_NE(result.err.find("warning: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("model.layers.5"), std::string::npos) << result.err;
}

TEST_F(BadModel, ConfigurationFields) {
  for (const char* value : {"0", "-6", "1000000000000", "6.5", "\"six\"", "null"}) {
    field("\"num_hidden_layers\": 6", std::string("\"num_hidden_layers\": ") + value,
          {"config.json", "num_hidden_layers"});
  }
  field("\"hidden_size\": 192,", "", {"config.json", "hidden_size"});
  field("\"hidden_act\": \"silu\"", "\"hidden_act\": \"swash\"", {"hidden_act", "silu", "swash"});
  field("LlamaForCausalLM", "LlanaForCausalLM", {"LlamaForCausalLM", "LlanaForCausalLM"});
  field("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "spiral", "factor": 2.0})",
        {"spiral", "llama3"});
  field("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4", {"config.json", "4"});
  field("\"vocab_size\": 2048", "\"vocab_size\": 2048 2048", {"config.json"});
}

TEST_F(BadModel, TokenizerOfAnUnknownType) {
  testing::replace_in(tokenizer_, "\"BPE\"", "\"ABC\"");
  refused({"tokenizer.json", "BPE", "ABC"});
}

TEST_F(BadModel, UnreadableShards) {
  std::filesystem::remove(weights_);
  write_bytes(model_ + "/model.safetensors.index.json",
              R"({"weight_map": {"lm_head.weight": "model-00001-of-00002.safetensors"}})");
  refused({"model-00001-of-00002.safetensors"});
  write_bytes(model_ + "/model.safetensors.index.json",
              R"({"weight_map": {"lm_head.weight": "../../../etc/hostname"}})");
  refused({"index.json"});
}

}  // namespace
}  // namespace tapml
