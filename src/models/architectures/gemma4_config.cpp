// The fields of Gemma 4's text configuration.
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/gemma4.h"

namespace tapml::models::gemma4 {

namespace {

// From transformers' Gemma4TextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 262144,
                                       .hidden = 2304,
                                       .layers = 30,
                                       .heads = 8,
                                       .kv_heads = 4,
                                       .head_dim = 256,
                                       .context = 131072,
                                       .intermediate = 9216,
                                       .activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true,
                                       .scalings = RopeScalings::kProportional};
constexpr int64_t kWindow = 512, kPattern = 6, kGlobalHeadDim = 512;
constexpr double kTheta = 1e6, kLocalTheta = 1e4, kTurning = 0.25;

// Heads of the layers without a window; transformers 5 writes them for each of these layers.
void read_global_heads(const JsonObjectReader& json, Config& c) {
  const auto by_layer = unwrap(json.optional_object("per_layer_config"));
  const auto last = std::to_string(c.layers - 1);
  const auto own = by_layer ? unwrap(by_layer->optional_object(last)) : std::nullopt;
  for (int64_t layer = 0; by_layer && layer < c.layers; ++layer) {
    const std::string name = std::to_string(layer);
    const Json* heads = by_layer->find(name);
    const std::string expected =
        own && !c.windowed[static_cast<size_t>(layer)] ? own->json().dump() : "";
    if ((heads ? heads->dump() : "") != expected) {
      throw_error(by_layer->field_error(name, "has other heads than the layers of its kind",
                                        "the same in all layers of a kind"));
    }
  }
  const JsonObjectReader& from = own ? *own : json;
  const char* head_dim = by_layer ? "head_dim" : "global_head_dim";
  const char* kv_heads = by_layer ? "num_key_value_heads" : "num_global_key_value_heads";
  c.global_head_dim =
      unwrap(from.int_or(head_dim, by_layer ? c.head_dim : kGlobalHeadDim, 2, kMaxHeadDim));
  c.global_kv_heads = c.kv_heads;
  if (by_layer || c.keys_are_values) {
    c.global_kv_heads = unwrap(from.int_or(kv_heads, c.kv_heads, 1, c.heads));
  }
  if (c.global_head_dim % 2 != 0) {
    throw_error(from.field_error(head_dim, "is odd, which rotary positions do not support",
                                 "an even number"));
  }
  if (c.heads % c.global_kv_heads != 0) {
    throw_error(from.field_error(kv_heads, "does not divide \"num_attention_heads\"",
                                 "a divisor of " + std::to_string(c.heads)));
  }
}

// Experts that each layer has beside its dense part.
void read_experts(const JsonObjectReader& json, Config& c) {
  constexpr int64_t kMaxExperts = 4096;
  ExpertConfig experts;
  experts.experts = unwrap(json.required_int("num_experts", 1, kMaxExperts));
  experts.per_token = unwrap(json.required_int("top_k_experts", 1, experts.experts));
  experts.inner = unwrap(json.required_int("moe_intermediate_size", 1, kMaxWidth));
  experts.activation = c.activation;
  experts.router = {
      .path = "router.proj", .renormalize = true, .expert_scale = "router.per_expert_scale"};
  experts.stacked.emplace();
  c.experts = experts;
}

}  // namespace

Config read_config(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return (layer + 1) % kPattern != 0; });
  if (c.windowed.back()) {
    c.windowed.back() = false;
    notes.warnings.push_back(json.source() + ": the last layer has no window, as in transformers");
  }
  c.keys_are_values = unwrap(json.bool_or("attention_k_eq_v", false));
  read_global_heads(json, c);
  c.shared_layer = read_shared_layers(json, c, 0);
  c.wide_where_shared = unwrap(json.bool_or("use_double_wide_mlp", false));
  c.logit_cap = unwrap(json.float_or("final_logit_softcapping", 0, 1e-3, 1e6));
  c.rope = {.theta = kTheta, .scaling = RopeConfig::Scaling::kProportional, .turning = kTurning};
  c.local_rope.theta = kLocalTheta;
  read_layer_rotations(json, c, c.local_rope, notes, kDefaults);
  c.per_layer = read_per_layer_embedding(json, c, 0, notes);
  if (c.per_layer.is_partial) {
    throw_error(json.field_error("vocab_size_per_layer_input", "is below \"vocab_size\"",
                                 "at least " + std::to_string(c.vocabulary)));
  }
  if (unwrap(json.bool_or("enable_moe_block", false))) read_experts(json, c);
  // "vision" is of images alone.
  const char* bidirectional = "use_bidirectional_attention";
  constexpr std::array<std::string_view, 1> kKinds = {"vision"};
  if (json.has(bidirectional)) unwrap(json.required_choice(bidirectional, kKinds));
  return c;
}

}  // namespace tapml::models::gemma4
