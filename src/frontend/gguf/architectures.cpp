#include "frontend/gguf/architectures.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "base/suggest.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr GgufName kLlamaNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", GgufChange::kPairedQueries},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", GgufChange::kPairedKeys},
    {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};

constexpr GgufName kQwenNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};

void set_biases(const GgufFields& fields, Json& config) {
  config.set("attention_bias", Json::boolean(fields.tensor("blk.0.attn_q.bias") != nullptr));
  config.set("mlp_bias", Json::boolean(fields.tensor("blk.0.ffn_up.bias") != nullptr));
}

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() {
  static constexpr GgufArchitecture kTable[] = {
      {"llama", "LlamaForCausalLM", "llama", kLlamaNames, {}, set_biases},
      {"qwen2", "Qwen2ForCausalLM", "qwen2", kQwenNames, {}},
      {"qwen3", "Qwen3ForCausalLM", "qwen3", kQwenNames, {}},
  };
  return kTable;
}

const GgufArchitecture& find_gguf_architecture(const GgufFields& fields) {
  std::vector<std::string_view> known;
  for (const GgufArchitecture& one : gguf_architectures()) {
    if (one.name == fields.architecture()) return one;
    known.push_back(one.name);
  }
  std::ranges::sort(known);
  fields.refuse("general.architecture", "is not supported in GGUF files", join_choices(known),
                in_quotes(fields.architecture()),
                "the model's safetensors files may be supported: tapml models lists what is");
}

}  // namespace tapml::frontend
