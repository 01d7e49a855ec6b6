// Qwen 3.5, the text model alone, dense and with experts: the layers of Qwen3-Next, whose delta
// nets have one matrix for each of their inputs (Qwen Team 2026; the layout and names of Hugging
// Face's Qwen3_5ForCausalLM and Qwen3_5MoeForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/qwen_hybrid.h"

namespace tapml::models {

using relax::Variable;

namespace {

DeltaNetProjections project(Graph& g, const DeltaNetConfig& c, const std::string& path,
                            const Variable& x) {
  return {.qkv = linear(g, path + ".in_proj_qkv", x, 2 * c.key_width() + c.value_width()),
          .gate = linear(g, path + ".in_proj_z", x, c.value_width()),
          .rate = linear(g, path + ".in_proj_b", x, c.value_heads, {.narrow = true}),
          .decay = linear(g, path + ".in_proj_a", x, c.value_heads, {.narrow = true})};
}

}  // namespace

namespace qwen3_5 {

namespace {

// From transformers' Qwen3_5TextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 248320,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 16,
                                       .kv_heads = 4,
                                       .head_dim = 256,
                                       .context = 32768,
                                       .intermediate = 12288,
                                       .partial_rotary = 0.25};

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  return qwen_hybrid_model("qwen3_5_text", read_qwen_hybrid_config(json, kDefaults, notes),
                           project);
}

}  // namespace qwen3_5

namespace qwen3_5_moe {

namespace {

// From transformers' Qwen3_5MoeTextConfig. No layer is without experts.
constexpr DecoderDefaults kDefaults = {.vocabulary = 248320,
                                       .hidden = 2048,
                                       .layers = 40,
                                       .heads = 16,
                                       .kv_heads = 2,
                                       .head_dim = 256,
                                       .context = 32768,
                                       .partial_rotary = 0.25};
constexpr ExpertDefaults kExperts = {.experts = 256, .per_token = 8, .inner = 512, .shared = 512};

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  QwenHybridConfig c = read_qwen_hybrid_config(json, kDefaults, notes);
  read_qwen_hybrid_experts(json, kExperts, 1, c, notes);
  c.sparse.assign(static_cast<size_t>(c.layers), true);
  c.experts.router.renormalize = true;
  return qwen_hybrid_model("qwen3_5_moe_text", c, project);
}

}  // namespace qwen3_5_moe

}  // namespace tapml::models
