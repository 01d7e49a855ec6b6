// Mamba 2: state-space layers alone, with recurrent state and no cache (Dao and Gu 2024; the layout
// and names of Hugging Face's Mamba2ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/norm.h"
#include "models/state_space_fields.h"

namespace tapml::models::mamba2 {

using relax::Variable;

namespace {

// From transformers' Mamba2Config.
constexpr int64_t kVocabulary = 32768;
constexpr int64_t kHidden = 4096;
constexpr int64_t kLayers = 64;
constexpr double kNormEpsilon = 1e-5;
constexpr StateSpaceDefaults kDefaults = {.heads = 128,
                                          .head_dim = 64,
                                          .groups = 8,
                                          .state_size = 128,
                                          .heads_key = "num_heads",
                                          .head_dim_key = "head_dim",
                                          .groups_key = "n_groups",
                                          .state_size_key = "state_size",
                                          .kernel_key = "conv_kernel",
                                          .expand_key = "expand",
                                          .convolution_bias_key = "use_conv_bias",
                                          .bias_key = "use_bias"};

Variable hidden_states(Graph& g, const DecoderConfig& c, const StateSpaceConfig& mixer) {
  Variable x = embed_tokens(g, "backbone.embeddings", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "backbone.layers." + std::to_string(layer);
    const Variable y = norm(g, path + ".norm", x, norm_of(c));
    x = residual(g, path, x, state_space(g, layer, path + ".mixer", y, mixer));
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  c.vocabulary = int_or_default(json, "vocab_size", kVocabulary, 1, kMaxVocabulary, notes);
  c.hidden = int_or_default(json, "hidden_size", kHidden, 1, kMaxWidth, notes);
  c.layers = int_or_default(json, "num_hidden_layers", kLayers, 1, kMaxLayers, notes);
  c.norm_epsilon = unwrap(json.float_or("layer_norm_epsilon", kNormEpsilon, 1e-12, 1));
  c.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", false));
  c.context = kRecurrentContext;
  // Sums of layers have the dtype of activations, f32 or what the user asks for.
  unwrap(json.bool_or("residual_in_fp32", true));
  StateSpaceConfig mixer = read_state_space(json, kDefaults, c, notes);
  mixer.activation = activation_or(json, "hidden_act", "silu");
  mixer.norm_epsilon = c.norm_epsilon;
  DecoderModel model = decoder_model("mamba2", c);
  model.embedding = "backbone.embeddings";
  model.last_norm = "backbone.norm_f";
  model.programs = state_space_program(mixer);
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c, mixer](Graph& g) { return hidden_states(g, c, mixer); };
  return model;
}

}  // namespace tapml::models::mamba2
