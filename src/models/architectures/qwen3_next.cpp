// Qwen3-Next: three layers of a gated delta net for one of attention with an output gate, routed
// experts and a shared one (Qwen Team 2025; the layout and names of Hugging Face's
// Qwen3NextForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/qwen_hybrid.h"

namespace tapml::models::qwen3_next {

using relax::make_shape;
using relax::Variable;

namespace {

// From transformers' Qwen3NextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151936,
                                       .hidden = 2048,
                                       .layers = 48,
                                       .heads = 16,
                                       .kv_heads = 2,
                                       .head_dim = 256,
                                       .context = 32768,
                                       .intermediate = 5632,
                                       .partial_rotary = 0.25};
constexpr ExpertDefaults kExperts = {.experts = 512, .per_token = 10, .inner = 512, .shared = 512};

// Two matrices, whose rows are ordered by key heads: q, k, then the values and the gates of the
// heads in its group; the rates of these heads, then their decays.
DeltaNetProjections project(Graph& g, const DeltaNetConfig& c, const std::string& path,
                            const Variable& x) {
  const int64_t group = c.value_heads / c.key_heads, values = group * c.value_size;
  const auto parts_of = [&](const char* name, const std::vector<int64_t>& sizes, bool narrow) {
    int64_t width = 0;
    for (const int64_t size : sizes) width += size;
    const Variable all = linear(g, path + "." + name, x, c.key_heads * width, {.narrow = narrow});
    g.origin(path);
    const Variable heads = in_heads(g, all, c.key_heads, width);
    const Variable split = g.op("split", {heads}, {{"axis", int64_t{-1}}, {"sizes", sizes}});
    std::vector<Variable> parts;
    for (const int64_t size : sizes) {
      parts.push_back(g.op("reshape", {g.field(split, std::ssize(parts)),
                                       make_shape({g.batch(), g.tokens(), c.key_heads * size})}));
    }
    return parts;
  };
  const auto qkvz =
      parts_of("in_proj_qkvz", {c.key_size, c.key_size, values, values}, /*narrow=*/false);
  const auto ba = parts_of("in_proj_ba", {group, group}, /*narrow=*/true);
  const Variable qkv =
      g.op("concat", {relax::make_tuple({qkvz[0], qkvz[1], qkvz[2]})}, {{"axis", int64_t{-1}}});
  return {.qkv = qkv, .gate = qkvz[3], .rate = ba[0], .decay = ba[1]};
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  QwenHybridConfig c = read_qwen_hybrid_config(json, kDefaults, notes);
  read_qwen_hybrid_experts(json, kExperts, 0, c, notes);
  c.sparse = read_sparse_layers(json, c, c.experts.experts);
  c.experts.router.renormalize = unwrap(json.bool_or("norm_topk_prob", true));
  return qwen_hybrid_model("qwen3_next", c, project);
}

}  // namespace tapml::models::qwen3_next
