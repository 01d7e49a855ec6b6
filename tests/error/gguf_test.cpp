// Broken GGUF files, through the program: exit code 2, and a message with the key or the tensor.
#include <gtest/gtest.h>

#include "support/gguf_image.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::GgufImage;
using testing::write_bytes;

class BadGguf : public ::testing::Test {
 protected:
  void refused(const std::string& image, const std::vector<std::string>& parts) {
    write_bytes(path_, image);
    expect_failure({"run", path_, "--prompt", "a", "--max-tokens", "1"}, 2, parts);
  }
  static GgufImage llama() {
    return GgufImage()
        .text("general.architecture", "llama")
        .integer("llama.embedding_length", 8)
        .integer("llama.block_count", 1)
        .integer("llama.feed_forward_length", 8)
        .integer("llama.attention.head_count", 2)
        .integer("llama.context_length", 16)
        .integer("llama.vocab_size", 4);
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_ / "model.gguf";
};

TEST_F(BadGguf, Containers) {
  refused(std::string("GGUF\x03\0\0\0", 8), {path_, "the file ends in the header"});
  refused(GgufImage().version(1).image(), {path_, "another version", "version 2 or 3"});
  refused(GgufImage().image(), {path_, "general.architecture", "missing"});
  refused(llama().tensor("w", {7}, 2, "").image(), {path_, "\"w\"", "whole blocks"});
  write_bytes(path_, llama().tensor("w", {7}, 2, "").image());
  expect_failure({"compile", path_}, 2, {path_, "\"w\"", "whole blocks"});
  expect_failure({"kernel", "show", path_, "k"}, 2, {path_, "\"w\"", "whole blocks"});
  expect_failure({"carve", path_, "--prompt", "a", "-o", folder_ / "suite"}, 2,
                 {path_, "\"w\"", "whole blocks"});
}

TEST_F(BadGguf, Architectures) {
  refused(GgufImage().text("general.architecture", "grok").image(),
          {path_, "\"general.architecture\" is not supported", "\"grok\"", "llama", "qwen3"});
  refused(GgufImage().integer("general.architecture", 3).image(), {"a text", "an integer"});
  refused(GgufImage().text("general.architecture", "llama").image(),
          {path_, "llama.embedding_length", "missing"});
  refused(llama().integer("split.count", 3).image(),
          {"split.count", "several files", "llama-gguf-split"});
  refused(llama().text("llama.rope.scaling.type", "magic").image(),
          {"llama.rope.scaling.type", "\"magic\"", "yarn"});
  refused(llama().text("llama.rope.freq_base", "x").image(),
          {"llama.rope.freq_base", "rope_theta", "a number"});
  refused(llama().image(), {"weights are missing", "model.embed_tokens.weight"});
}

TEST_F(BadGguf, Weights) {
  const std::string ones(256, '\x3f');
  refused(llama().tensor("token_embd.weight", {8, 4}, 0, ones).image(), {"weights are missing"});
  refused(llama().tensor("blk.0.attn_q.weight", {8, 3}, 0, ones).image(),
          {"blk.0.attn_q.weight", "heads", "[3, 8]"});
}

// A tensor of each weight, so that only the tokenizer is at fault.
TEST_F(BadGguf, Tokenizers) {
  const std::string floats(256, '\0');
  const auto whole = [&] {
    GgufImage image = llama();
    for (const char* name : {"attn_norm", "ffn_norm"}) {
      image.tensor("blk.0." + std::string(name) + ".weight", {8}, 0, floats.substr(0, 32));
    }
    image.tensor("output_norm.weight", {8}, 0, floats.substr(0, 32));
    for (const char* name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      image.tensor("blk.0." + std::string(name) + ".weight", {8, 8}, 0, floats);
    }
    image.tensor("token_embd.weight", {8, 4}, 0, floats.substr(0, 128));
    return image;
  };
  const std::vector<std::string> tokens = {"<s>", "</s>", "a", "b"};
  refused(whole().image(), {"tokenizer.ggml.model", "no tokenizer"});
  refused(whole().text("tokenizer.ggml.model", "t5").image(),
          {"tokenizer.ggml.model", "\"t5\"", "gpt2 or llama"});
  refused(whole().text("tokenizer.ggml.model", "gpt2").image(), {"tokenizer.ggml.tokens"});
  const auto gpt2 = [&] {
    return whole().text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", tokens);
  };
  refused(gpt2().text("tokenizer.ggml.pre", "other").image(),
          {"tokenizer.ggml.pre", "\"other\"", "llama-bpe"});
  refused(gpt2().image(), {"tokenizer.ggml.merges"});
  refused(gpt2().texts("tokenizer.ggml.merges", {"a c"}).image(), {"merges[0]", "\"c\""});
  refused(gpt2().integers("tokenizer.ggml.token_type", {1}).image(),
          {"tokenizer.ggml.token_type", "4 items", "1"});
  refused(gpt2()
              .texts("tokenizer.ggml.merges", {"a b"})
              .integer("tokenizer.ggml.bos_token_id", 9)
              .image(),
          {"tokenizer.ggml.bos_token_id", "0 to 3", "9"});
  const auto scored = [&](const std::vector<std::string>& all) {
    return whole().text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", all);
  };
  refused(scored(tokens).image(), {"tokenizer.ggml.scores", "4 items", "0"});
  refused(scored(tokens).reals("tokenizer.ggml.scores", {0, 0, NAN, 0}).image(),
          {"tokenizer.ggml.scores", "finite"});
  refused(scored({"a", "b", "a"}).reals("tokenizer.ggml.scores", {0, 0, 0}).image(),
          {"tokenizer.ggml.tokens", "\"a\" twice", "0 and 2"});
  refused(scored({"a", "\xff", "b"}).reals("tokenizer.ggml.scores", {0, 0, 0}).image(), {"UTF-8"});
}

}  // namespace
}  // namespace tapml
