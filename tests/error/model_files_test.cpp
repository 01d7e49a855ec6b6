// Broken model directories, through the program: exit code 2, and a message with the file, the
// expected and the found contents.
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
  // Writes a safetensors file with this header, followed by `data` zero bytes.
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
  // More layers in the file than in the configuration: a warning, and the model runs.
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

TEST_F(BadModel, FilesThatAreNotAModel) {
  const std::string lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n";
  for (const std::string& path : {config_, weights_, tokenizer_}) {
    SCOPED_TRACE(path);
    const std::string saved = read_bytes(path);
    write_bytes(path, lfs);
    refused({path, "Git LFS pointer", "git lfs pull"});
    write_bytes(path, "<!DOCTYPE html>\n<html>");
    refused({path, "HTML page", "hf download"});
    write_bytes(path, saved);
  }
  write_bytes(folder_ / "model.bin", std::string("PK\x03\x04", 4));
  expect_failure({"run", folder_ / "model.bin", "--prompt", "x"}, 2, {"pickle", "transformers"});
  expect_failure({"run", "org/some-model", "--prompt", "x"}, 2,
                 {"org/some-model", "does not exist", "hf download"});
  std::filesystem::remove(tokenizer_);
  write_bytes(model_ + "/vocab.txt", "x");
  refused({"tokenizer.json", "vocab.txt", "AutoTokenizer"});
  write_bytes(model_ + "/tokenizer.model", "x");
  refused({"tokenizer.model is not a SentencePiece model", "download the file again"});
  std::filesystem::remove(weights_);
  write_bytes(model_ + "/pytorch_model.bin", "x");
  refused({"pytorch_model.bin", "transformers"});
  std::filesystem::remove(config_);
  write_bytes(model_ + "/adapter_config.json", R"({"base_model_name_or_path": "org/base"})");
  refused({"LoRA adapter", "org/base", "merge"});
}

TEST_F(BadModel, APromptThatBeginsWithBosHasItOnce) {
  const auto tokens = [&](const std::string& prompt, const char* warning) {
    testing::ProgramResult result =
        testing::run_program({"run", model_, "--prompt", prompt, "--max-tokens", "1", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    EXPECT_EQ(result.err.contains("begins with the token"), warning != nullptr) << result.err;
    const size_t begin = result.out.find("\"prompt_tokens\"");
    return result.out.substr(begin, result.out.find(']', begin) - begin);
  };
  EXPECT_EQ(tokens("<|begin_of_text|>Emma was", "once"), tokens("Emma was", nullptr));
}

// The decoder writes U+0000 in place of spaces.
TEST_F(BadModel, StreamedTextKeepsTheCharacterZero) {
  testing::replace_in(tokenizer_, R"("decoder": {
    "type": "ByteLevel",)",
                      R"("decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u0000"}]}, "other": {)");
  testing::ProgramResult result =
      testing::run_program({"run", model_, "--prompt", "In the beginning", "--max-tokens", "12"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const size_t zero = result.out.find('\0');
  ASSERT_NE(zero, std::string::npos) << result.out;
  EXPECT_NE(result.out.find_first_not_of(std::string_view("\0\n", 2), zero), std::string::npos);
}

TEST_F(BadModel, RootOfACacheEntry) {
  const std::string root = folder_ / "models--org--demo";
  std::filesystem::create_directories(root + "/snapshots");
  std::filesystem::create_directories(root + "/refs");
  std::filesystem::rename(model_, root + "/snapshots/0123abcd");
  write_bytes(root + "/refs/main", "0123abcd");
  testing::ProgramResult result =
      testing::run_program({"run", root, "--prompt", "Emma was", "--max-tokens", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  const std::string executable = folder_ / "demo.tapml";
  result = testing::run_program({"compile", root, "-o", executable});
  EXPECT_EQ(result.exit_code, 0) << result.all();
  result = testing::run_program(
      {"run", executable, "--model", root, "--prompt", "Emma was", "--max-tokens", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.all();
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
