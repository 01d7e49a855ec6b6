// Zamba 2: state-space layers, some of which get what a transformer layer makes of their input and
// of the embeddings. A few such layers serve all places in turns, each place with low-rank adapters
// of its own (Glorioso et al. 2024; the layout and names of Hugging Face's Zamba2ForCausalLM).
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/norm.h"
#include "models/state_space_fields.h"

namespace tapml::models::zamba2 {

using relax::Variable;

namespace {

// From transformers' Zamba2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 2560,
                                       .layers = 54,
                                       .heads = 32,
                                       .context = 4096,
                                       .head_dim_key = "attention_head_dim",
                                       .norm_epsilon = 1e-5,
                                       .activation = "gelu",
                                       .tied_embeddings = true};
constexpr StateSpaceDefaults kMixerDefaults = {.heads = 8,
                                               .state_size = 64,
                                               .heads_key = "n_mamba_heads",
                                               .head_dim_key = "mamba_headdim",
                                               .groups_key = "mamba_ngroups",
                                               .convolution_bias_key = nullptr,
                                               .bias_key = "add_bias_linear",
                                               .steps_key = nullptr};
constexpr double kLeastStep = 1e-3;
constexpr int64_t kAdapterRank = 128;
constexpr const char* kDefaultKinds = "MMMMMMHMMMMMHMMMMMHMMMMMHMMMMMHMMMMMHMMMMMHMMMMHMMMHMM";

struct Config : DecoderConfig {
  std::vector<LayerKind> kinds;  // by layer
  std::vector<int64_t> places;   // the layers that get something of a transformer layer
  int64_t transformers = 1;      // those that there are; their weights are at the first places
  int64_t attention_rank = 0;    // of the adapters of q, k and v; 0: none
  int64_t mlp_rank = kAdapterRank;
  bool rotates = false;
  StateSpaceConfig mixer;
};

// A linear layer of a transformer layer, plus the adapter of a place.
Variable adapted(Graph& g, const std::string& path, const std::string& adapter, const Variable& x,
                 int64_t outputs, int64_t rank, bool bias = false) {
  const Variable y = linear(g, path, x, outputs, {.bias = bias});
  if (rank == 0) return y;
  const Variable low = linear(g, adapter + ".0", x, rank);
  return g.add(y, linear(g, adapter + ".1", low, outputs));
}

Variable attention_of_place(Graph& g, const Config& c, int64_t place, const std::string& path,
                            const Variable& x) {
  const auto project = [&](const std::string& name, int64_t heads) {
    const std::string adapter = path + ".linear_" + name + "_adapter_list." + std::to_string(place);
    const Variable y =
        adapted(g, path + "." + name + "_proj", adapter, x, heads * c.head_dim, c.attention_rank);
    return in_heads(g, y, heads, c.head_dim);
  };
  AttentionConfig config = attention_of(c);
  config.scale = std::sqrt(2 / static_cast<double>(c.head_dim));
  if (!c.rotates) config.rope = std::nullopt;
  const Variable q = project("q", c.heads), k = project("k", c.kv_heads),
                 v = project("v", c.kv_heads);
  const Variable mixed = attend(g, c.places[static_cast<size_t>(place)], path, q, k, v, config);
  return linear(g, path + ".o_proj", mixed, c.hidden);
}

Variable mlp_of_place(Graph& g, const Config& c, int64_t place, const std::string& path,
                      const Variable& x) {
  const bool bias = c.mixer.in_bias;
  const Variable both = adapted(g, path + ".gate_up_proj",
                                path + ".gate_up_proj_adapter_list." + std::to_string(place), x,
                                2 * c.intermediate, c.mlp_rank, bias);
  g.origin(path);
  const Variable parts = g.op("split", {both}, {{"axis", int64_t{-1}}, {"sections", int64_t{2}}});
  const Variable gate = activate(g, g.field(parts, 0), c.activation);
  return linear(g, path + ".down_proj", g.op("multiply", {gate, g.field(parts, 1)}), c.hidden,
                {.bias = bias});
}

// What a transformer layer makes of the hidden states and the embeddings, for a place.
Variable transformer(Graph& g, const Config& c, int64_t place, const Variable& x,
                     const Variable& embeddings) {
  const std::string path =
      layer_path(c.places[static_cast<size_t>(place % c.transformers)]) + ".shared_transformer";
  g.origin(path);
  Variable y = g.op("concat", {relax::make_tuple({x, embeddings})}, {{"axis", int64_t{-1}}});
  y = norm(g, path + ".input_layernorm", y, norm_of(c));
  y = attention_of_place(g, c, place, path + ".self_attn", y);
  y = norm(g, path + ".pre_ff_layernorm", y, norm_of(c));
  return mlp_of_place(g, c, place, path + ".feed_forward", y);
}

Variable hidden_states(Graph& g, const Config& c) {
  const Variable embeddings = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  Variable x = embeddings;
  int64_t place = 0;
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    std::string path = layer_path(layer);
    Variable input = x;
    if (c.kinds[static_cast<size_t>(layer)] == LayerKind::kHybrid) {
      const Variable given =
          linear(g, path + ".linear", transformer(g, c, place++, x, embeddings), c.hidden);
      path += ".mamba_decoder";
      input = residual(g, path, x, given);
    }
    const Variable y = norm(g, path + ".input_layernorm", input, norm_of(c));
    x = residual(g, path, x, state_space(g, layer, path + ".mamba", y, c.mixer));
  }
  return x;
}

void read_transformers(const JsonObjectReader& json, Config& c, ConfigNotes& notes) {
  c.kinds = read_layer_kinds(json, "MH", kDefaultKinds, c.layers);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    if (c.kinds[static_cast<size_t>(layer)] == LayerKind::kHybrid) c.places.push_back(layer);
  }
  c.transformers = int_or_default(json, "num_mem_blocks", 1, 1, kMaxLayers, notes);
  c.mlp_rank = int_or_default(json, "adapter_rank", kAdapterRank, 1, kMaxWidth, notes);
  if (!unwrap(json.bool_or("use_shared_attention_adapter", false))) return;
  c.attention_rank = c.mlp_rank;
  if (c.kv_heads == c.heads) return;
  throw_error(json.field_error("num_key_value_heads",
                               "is below \"num_attention_heads\", where adapters of k and v have "
                               "the width of all heads",
                               std::to_string(c.heads)));
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  // Heads are of twice the hidden size, whatever the field says, as in transformers.
  c.head_dim = 2 * c.hidden / c.heads;
  c.intermediate = unwrap(json.int_or("intermediate_size", 4 * c.hidden, 1, kMaxWidth));
  c.rotates = unwrap(json.bool_or("use_mem_rope", false));
  if (!c.tied_embeddings) {
    throw_error(
        json.field_error("tie_word_embeddings",
                         "is false: in transformers, the places of a transformer layer then "
                         "have weights of their own",
                         "true"));
  }
  refuse_set(json, "use_long_context", "is true: texts above the trained length are not supported");
  read_transformers(json, c, notes);
  c.mixer = read_state_space(json, kMixerDefaults, c, notes);
  c.mixer.least_step = unwrap(json.float_or("time_step_min", kLeastStep, 0, 1e9));
  DecoderModel model = decoder_model("zamba2", c);
  model.last_norm = "model.final_layernorm";
  model.programs = state_space_program(c.mixer);
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::zamba2
