// OLMo Hybrid: three layers of a gated delta net, with norms before the parts, for one of OLMo 3's
// attention, with norms after them (OLMo Team 2026; the layout of Hugging Face's
// OlmoHybridForCausalLM, and the names of the published files).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/delta_net.h"
#include "models/blocks/layer.h"
#include "models/blocks/short_convolution.h"

namespace tapml::models::olmo_hybrid {

using relax::Variable;

namespace {

// From transformers' OlmoHybridConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 100352,
                                       .hidden = 3840,
                                       .layers = 32,
                                       .heads = 30,
                                       .kv_heads = 0,
                                       .context = 65536,
                                       .intermediate = 11008};

struct Config : DecoderConfig {
  std::vector<bool> attends;  // by layer; the others have a delta net
  bool rotates = true;        // heads of the attention
  DeltaNetConfig delta;
  ShortConvolutionConfig convolution;
};

AttentionConfig attention_of_layer(const Config& c) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kWhole;
  if (!c.rotates) config.rope.reset();
  return config;
}

Variable linear_attention(Graph& g, const Config& c, int64_t layer, const std::string& path,
                          const Variable& x) {
  const auto convolved = [&](const std::string& name, int64_t width) {
    Variable y = linear(g, path + "." + name + "_proj", x, width);
    y = short_convolution(g, name + "_convolution." + std::to_string(layer),
                          path + "." + name + "_conv1d", y, c.convolution);
    return activate(g, y, c.activation);
  };
  const auto narrow = [&](const char* name) {
    return linear(g, path + "." + name, x, c.delta.value_heads, {.narrow = true});
  };
  return delta_net(g, layer, path,
                   {.q = convolved("q", c.delta.key_width()),
                    .k = convolved("k", c.delta.key_width()),
                    .v = convolved("v", c.delta.value_width()),
                    .gate = linear(g, path + ".g_proj", x, c.delta.value_width()),
                    .rate = narrow("b_proj"),
                    .decay = narrow("a_proj")},
                   c.hidden, c.delta);
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const Part feed = [&](const Variable& y) {
      return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
    };
    if (c.attends.at(static_cast<size_t>(layer))) {
      x = post_norm_layer(
          g, path, x, norm_of(c),
          [&](const Variable& y) {
            return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
          },
          feed);
      continue;
    }
    Variable y = norm(g, path + ".attention_layer_norm", x, norm_of(c));
    x = residual(g, path, x, linear_attention(g, c, layer, path + ".linear_attn", y));
    y = norm(g, path + ".feedforward_layer_norm", x, norm_of(c));
    x = residual(g, path, x, feed(y));
  }
  return x;
}

// Every fourth layer attends, and the last one of fewer than four.
std::vector<bool> read_attends(const JsonObjectReader& json, const Config& c) {
  const auto attends = read_layer_types(
      json, c, "full_attention", "linear_attention",
      [&](int64_t layer) { return layer % 4 == 3 || (c.layers < 4 && layer == c.layers - 1); });
  const auto count = std::ranges::count(attends, true);
  if (count > 0 && count < c.layers) return attends;
  const char* key = json.has("layer_types") ? "layer_types" : "num_hidden_layers";
  throw_error(json.field_error(key, "leaves layers of one kind alone",
                               "\"linear_attention\" and \"full_attention\", both"));
}

void read_delta(const JsonObjectReader& json, Config& c) {
  DeltaNetConfig& delta = c.delta;
  delta.key_heads = unwrap(json.int_or("linear_num_key_heads", c.heads, 1, kMaxDeltaHeads));
  delta.value_heads = unwrap(json.int_or("linear_num_value_heads", c.heads, 1, kMaxDeltaHeads));
  check_divides(json, "linear_num_value_heads", delta.value_heads, delta.key_heads,
                "linear_num_key_heads");
  const char* key = "linear_key_head_dim";
  delta.key_size =
      unwrap(json.int_or(key, 3 * c.hidden / (4 * delta.key_heads), 1, kMaxDeltaKeySize));
  if (delta.key_size < 1 || delta.key_size > kMaxDeltaKeySize) {
    throw_error(json.field_error(
        key, "is absent: a head has " + std::to_string(delta.key_size) + " elements by default",
        "an integer from 1 to " + std::to_string(kMaxDeltaKeySize)));
  }
  delta.value_size = unwrap(json.int_or("linear_value_head_dim", 2 * delta.key_size, 1, kMaxWidth));
  delta.largest_rate = unwrap(json.bool_or("linear_allow_neg_eigval", true)) ? 2 : 1;
  delta.norm_epsilon = 1e-5;  // fixed in the published code
  delta.norm = "o_norm";
  delta.output = "o_proj";
  c.convolution.kernel = unwrap(json.int_or("linear_conv_kernel_dim", 4, 1, kMaxShortKernel));
}

// Published models have no rotation, which their configurations say by a theta of null.
bool has_theta(const JsonObjectReader& json) {
  const char* key = "rope_theta";
  const auto given = [&](const JsonObjectReader& from) { return from.json().find(key); };
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const auto parameters = unwrap(json.optional_object(name));
    if (!parameters) continue;
    if (const Json* theta = given(*parameters)) return !theta->is_null();
  }
  const Json* theta = given(json);
  return !theta || !theta->is_null();
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.rotates = has_theta(json);
  c.attends = read_attends(json, c);
  read_delta(json, c);
  DecoderModel model = decoder_model("olmo_hybrid", c);
  model.programs = delta_net_program(c.delta);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::olmo_hybrid
