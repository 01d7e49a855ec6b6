// GGUF files through the program: the demo model as the file that llama.cpp's converter would
// write.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/gguf_blocks.h"
#include "support/demo_vocabulary.h"
#include "support/gguf_image.h"
#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::GgufImage;
using testing::kDemoModel;
using testing::output_of;
using testing::run_program;

constexpr uint32_t kF32 = 0, kQ8_0 = 8;

std::string bytes_of(const HostTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.byte_size()};
}

HostTensor widened(const HostTensor& tensor) {
  HostTensor wide = HostTensor::zeros(DType::kF32, tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) wide.set_f64(i, tensor.at_f64(i));
  return wide;
}

// Neighbors (j, j + m) of each head next to each other.
HostTensor paired(const HostTensor& weight, int64_t heads) {
  HostTensor result = HostTensor::zeros(DType::kF32, weight.shape());
  const int64_t rows = weight.shape()[0], columns = weight.shape()[1], width = rows / heads;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t j = row % width;
    const int64_t to = row - j + j % (width / 2) * 2 + j / (width / 2);
    for (int64_t i = 0; i < columns; ++i) {
      result.set_f64(to * columns + i, weight.at_f64(row * columns + i));
    }
  }
  return result;
}

// Blocks of 32 with a scale in f16 and a byte for each element.
std::string q8_0(const HostTensor& weight) {
  std::string blocks;
  for (int64_t i = 0; i < weight.size(); i += 32) {
    double largest = 0;
    for (int64_t j = 0; j < 32; ++j) largest = std::max(largest, std::fabs(weight.at_f64(i + j)));
    const uint16_t scale = f32_to_f16(static_cast<float>(largest / 127));
    blocks.append(reinterpret_cast<const char*>(&scale), 2);
    for (int64_t j = 0; j < 32; ++j) {
      const double level = largest > 0 ? weight.at_f64(i + j) / f16_to_f32(scale) : 0;
      blocks.push_back(
          static_cast<char>(static_cast<int8_t>(std::clamp(std::nearbyint(level), -127.0, 127.0))));
    }
  }
  return blocks;
}

std::string demo_gguf(uint32_t type) {
  const auto [tokens, types, merges] = testing::demo_vocabulary();
  GgufImage image;
  image.text("general.architecture", "llama")
      .integer("llama.embedding_length", 192)
      .integer("llama.block_count", 6)
      .integer("llama.feed_forward_length", 512)
      .integer("llama.attention.head_count", 6)
      .integer("llama.attention.head_count_kv", 2)
      .integer("llama.context_length", 512)
      .real("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "llama-bpe")
      .texts("tokenizer.ggml.tokens", tokens)
      .integers("tokenizer.ggml.token_type", types)
      .texts("tokenizer.ggml.merges", merges)
      .integer("tokenizer.ggml.bos_token_id", 2046)
      .integer("tokenizer.ggml.eos_token_id", 2047);
  const auto weights = testing::read_tensors(kDemoModel + "/model.safetensors");
  const auto add = [&](const std::string& name, const std::string& published, int64_t heads) {
    HostTensor weight = widened(weights.at(published + ".weight"));
    if (heads > 0) weight = paired(weight, heads);
    std::vector<uint64_t> extents(weight.shape().rbegin(), weight.shape().rend());
    const bool is_blocks = type == kQ8_0 && extents.size() == 2;
    image.tensor(name + ".weight", extents, is_blocks ? type : kF32,
                 is_blocks ? q8_0(weight) : bytes_of(weight));
  };
  add("token_embd", "model.embed_tokens", 0);
  add("output_norm", "model.norm", 0);
  add("output", "lm_head", 0);
  for (int i = 0; i < 6; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    add(block + "attn_norm", layer + "input_layernorm", 0);
    add(block + "ffn_norm", layer + "post_attention_layernorm", 0);
    add(block + "attn_q", layer + "self_attn.q_proj", 6);
    add(block + "attn_k", layer + "self_attn.k_proj", 2);
    add(block + "attn_v", layer + "self_attn.v_proj", 0);
    add(block + "attn_output", layer + "self_attn.o_proj", 0);
    for (const char* part : {"gate", "up", "down"}) {
      add(block + "ffn_" + part, layer + "mlp." + part + "_proj", 0);
    }
  }
  return image.image();
}

TEST(Gguf, RunsAsTheModelThatItWasMadeOf) {
  testing::TempFolder folder;
  const std::string path = folder / "demo.gguf";
  testing::write_bytes(path, demo_gguf(kF32));
  const std::vector<std::string> how = {"--prompt", "Emma was", "--max-tokens", "12"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), how.begin(), how.end());
    return output_of(words);
  };
  const std::string text = run({kDemoModel});
  EXPECT_GT(text.size(), 20u);
  EXPECT_EQ(run({path}), text);
}

// Blocks stay quantized in an executable, in a package and in a suite by reference.
TEST(Gguf, CompilesPackagesAndCarvesBlocks) {
  testing::TempFolder folder;
  const std::string path = folder / "demo.gguf", file = folder / "demo.tapml";
  testing::write_bytes(path, demo_gguf(kQ8_0));
  const std::vector<std::string> how = {"--prompt", "Emma was", "--max-tokens", "6"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), how.begin(), how.end());
    return output_of(words);
  };
  const std::string text = run({path});
  output_of({"compile", path, "-o", file, "--package", folder / "package"});
  EXPECT_EQ(run({file}), text);
  EXPECT_EQ(run({folder / "package"}), text);
  output_of({"carve", path, "--prompt", "Emma was", "--max-tokens", "2", "--weights", "reference",
             "-o", folder / "suite"});
  const std::string replayed = output_of({"replay", folder / "suite", "--target", "cpu"});
  EXPECT_NE(replayed.find("dequantize_matmul"), std::string::npos) << replayed;
  // Moved, the weights are compared by their bytes.
  const std::string moved = folder / "moved.gguf";
  std::filesystem::rename(path, moved);
  EXPECT_EQ(run({file, "--model", moved}), text);
  testing::write_bytes(path, demo_gguf(kF32));
  const auto refused = run_program({"run", file, "--prompt", "Emma was"});
  EXPECT_EQ(refused.exit_code, 2) << refused.all();
  EXPECT_NE(refused.err.find("is not the one"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace tapml
