#include "models/config_fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/blocks/embedding.h"

namespace tapml::models {

namespace {

// Far above every existing model, so that products cannot overflow.
constexpr int64_t kMaxHeads = int64_t{1} << 16;

void read_heads(const JsonObjectReader& json, const DecoderDefaults& defaults,
                DecoderConfig& config, ConfigNotes& notes) {
  config.heads = int_or_default(json, "num_attention_heads", defaults.heads, 1, kMaxHeads, notes);
  const char* kv_heads = defaults.kv_heads_key;
  if (defaults.kv_heads == 0 || json.has(kv_heads)) {
    config.kv_heads = unwrap(json.int_or(kv_heads, config.heads, 1, config.heads));
  } else {
    config.kv_heads = int_or_default(json, kv_heads, defaults.kv_heads, 1, config.heads, notes);
    if (config.kv_heads > config.heads) {
      throw_error(json.field_error(
          "num_attention_heads",
          "is below the default of " + in_quotes(kv_heads) + ", which is absent",
          "at least " + std::to_string(config.kv_heads) + ", or " + in_quotes(kv_heads)));
    }
  }
  check_divides(json, "num_attention_heads", config.heads, config.kv_heads, kv_heads);
  if (auto head_dim = unwrap(json.optional_int(defaults.head_dim_key, 2, kMaxHeadDim))) {
    config.head_dim = *head_dim;
  } else if (defaults.head_dim > 0) {
    notes.defaulted.push_back(defaults.head_dim_key + (" (" + std::to_string(defaults.head_dim)) +
                              ")");
    config.head_dim = defaults.head_dim;
  } else {
    check_divides(json, "hidden_size", config.hidden, config.heads, "num_attention_heads");
    config.head_dim = config.hidden / config.heads;
  }
  if (config.head_dim % 2 != 0) {
    const char* key = json.has(defaults.head_dim_key) ? defaults.head_dim_key : "hidden_size";
    throw_error(
        json.field_error(key, "gives heads of an odd width, which rotary positions do not support",
                         "an even width of a head, not " + std::to_string(config.head_dim)));
  }
}

void read_llama3(const JsonObjectReader& top, const JsonObjectReader& json, int64_t context,
                 RopeConfig& rope, ConfigNotes& notes) {
  rope.scaling = RopeConfig::Scaling::kLlama3;
  rope.factor = unwrap(json.required_float("factor", 1, 1e6));
  rope.low_freq_factor = unwrap(json.required_float("low_freq_factor", 1e-6, 1e6));
  rope.high_freq_factor = unwrap(json.required_float("high_freq_factor", 1e-6, 1e6));
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    throw_error(json.field_error("high_freq_factor", "is not above \"low_freq_factor\"",
                                 "a number above " + Json::number(rope.low_freq_factor).dump()));
  }
  const char* key = "original_max_position_embeddings";
  rope.original_context = unwrap(json.int_or(key, context, 1, kMaxContext));
  if (unwrap(top.int_or(key, rope.original_context, 1, kMaxContext)) != rope.original_context) {
    notes.warnings.push_back(
        json.source() + ": " + in_quotes(key) + " beside " + in_quotes(json.path()) +
        " is ignored, as in transformers: " + std::to_string(rope.original_context) + " counts");
  }
}

void read_yarn(const JsonObjectReader& json, int64_t context, RopeConfig& rope) {
  rope.scaling = RopeConfig::Scaling::kYarn;
  rope.original_context =
      unwrap(json.int_or("original_max_position_embeddings", context, 1, kMaxContext));
  const double ratio = static_cast<double>(context) / static_cast<double>(rope.original_context);
  rope.factor = unwrap(json.float_or("factor", ratio, 1e-3, 1e6));
  rope.beta_fast = unwrap(json.float_or("beta_fast", 32, 1e-3, 1e6));
  rope.beta_slow = unwrap(json.float_or("beta_slow", 1, 1e-3, 1e6));
  rope.truncate = unwrap(json.bool_or("truncate", true));
  const double by = unwrap(json.float_or("mscale", 0, 0, 1e6));
  const double by_all = unwrap(json.float_or("mscale_all_dim", 0, 0, 1e6));
  rope.scale = by != 0 && by_all != 0
                   ? yarn_scale(rope.factor, by) / yarn_scale(rope.factor, by_all)
                   : yarn_scale(rope.factor, 1);
  if (by_all != 0) rope.score_scale = std::pow(yarn_scale(rope.factor, by_all), 2);
  rope.scale = unwrap(json.float_or("attention_factor", rope.scale, 1e-6, 1e6));
}

std::vector<float> read_factors(const JsonObjectReader& json, const char* key) {
  const std::vector<double> factors = read_numbers(json, key, 1e-3, 1e6);
  return {factors.begin(), factors.end()};
}

// transformers takes the original context from the top level, or from the class.
void read_longrope(const JsonObjectReader& top, const JsonObjectReader& json, int64_t context,
                   const DecoderDefaults& defaults, RopeConfig& rope) {
  rope.scaling = RopeConfig::Scaling::kLongRope;
  rope.factors = read_factors(json, "short_factor");
  std::vector<float> long_factors = read_factors(json, "long_factor");
  rope.original_context = unwrap(
      top.int_or("original_max_position_embeddings", defaults.original_context, 2, kMaxContext));
  // No text is longer than the context.
  if (rope.original_context < context) rope.long_factors = std::move(long_factors);
  const auto original = static_cast<double>(rope.original_context);
  rope.factor = unwrap(json.float_or("factor", static_cast<double>(context) / original, 1e-6, 1e6));
  rope.scale = rope.factor <= 1 ? 1 : std::sqrt(1 + std::log(rope.factor) / std::log(original));
  rope.scale = unwrap(json.float_or("attention_factor", rope.scale, 1e-6, 1e6));
}

std::vector<std::string_view> scaling_types(RopeScalings scalings) {
  switch (scalings) {
    case RopeScalings::kTransformers:
      return {"default", "linear", "llama3", "yarn"};
    case RopeScalings::kProportional:
      return {"default", "linear", "llama3", "yarn", "proportional"};
    case RopeScalings::kLinearAndDynamic:
      return {"default", "linear", "dynamic"};
    case RopeScalings::kNone:
      break;
  }
  return {"default"};
}

// `json` is rope_parameters or rope_scaling.
void read_scaling(const JsonObjectReader& top, const JsonObjectReader& json, int64_t context,
                  RopeConfig& rope, ConfigNotes& notes, const DecoderDefaults& defaults = {}) {
  std::vector<std::string_view> types = scaling_types(defaults.scalings);
  const bool has_longrope = defaults.original_context > 0;
  if (has_longrope) types.insert(types.end(), {"longrope", "su"});
  const char* key = json.has("rope_type") || !json.has("type") ? "rope_type" : "type";
  if (!json.has(key)) {
    if (json.has("factor")) {
      notes.warnings.push_back(
          json.source() + ": " + in_quotes(json.path()) +
          " has a factor but no \"rope_type\": positions are not scaled, as in "
          "transformers");
    }
    return;
  }
  const std::string type = unwrap(json.required_choice(key, types));
  if (json.has("rope_type") && json.has("type") && unwrap(json.required_string("type")) != type) {
    notes.warnings.push_back(json.source() + ": " + in_quotes(json.path()) +
                             " has two types: \"rope_type\" is used, as in transformers");
  }
  if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::kLinear;
    rope.factor = unwrap(json.required_float("factor", 1, 1e6));
  } else if (type == "llama3") {
    read_llama3(top, json, context, rope, notes);
  } else if (has_longrope && (type == "longrope" || type == "su" ||
                              (type == "yarn" && defaults.yarn_is_longrope))) {
    read_longrope(top, json, context, defaults, rope);
  } else if (type == "yarn") {
    read_yarn(json, context, rope);
  } else if (type == "proportional") {
    rope.scaling = RopeConfig::Scaling::kProportional;
    rope.factor = unwrap(json.float_or("factor", 1, 1e-6, 1e6));
    rope.turning = unwrap(json.float_or("partial_rotary_factor", 1, 0, 1));
  }
}

// The factor of `parameters` takes precedence over the top level's.
void read_partial_rotary(const JsonObjectReader& json, const JsonObjectReader* parameters,
                         const DecoderDefaults& defaults, int64_t head_dim, RopeConfig& rope) {
  double factor = defaults.partial_rotary > 0 ? defaults.partial_rotary : 1;
  const JsonObjectReader* holder = nullptr;
  const char* holder_key = nullptr;
  const auto read = [&](const JsonObjectReader& from, const char* key) {
    if (!from.has(key)) return;
    factor = unwrap(from.required_float(key, 0, 1));
    holder = &from;
    holder_key = key;
  };
  read(json, "partial_rotary_factor");
  read(json, defaults.partial_rotary_key);
  if (parameters) read(*parameters, "partial_rotary_factor");
  if (factor == 1) return;
  if (defaults.partial_rotary == 0) {
    throw_error(
        holder->field_error(holder_key, "is not 1: this architecture rotates whole heads", "1"));
  }
  rope.rotated = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
  if (rope.rotated >= 2 && rope.rotated % 2 == 0) return;
  const std::string problem = "rotates " + std::to_string(rope.rotated) + " of " +
                              std::to_string(head_dim) + " elements of a head";
  if (holder) throw_error(holder->field_error(holder_key, problem, "an even number, at least 2"));
  throw_error(json.field_error("hidden_size", problem, "an even number, at least 2"));
}

// Like transformers 5: fields in rope_fields() take precedence over the same field at the top
// level.
RopeConfig read_rope(const JsonObjectReader& json, const DecoderDefaults& defaults,
                     const DecoderConfig& config, ConfigNotes& notes) {
  RopeConfig rope;
  rope.theta = defaults.theta;
  const int64_t context = config.context;
  const auto parameters = rope_fields(json);
  const auto newer = unwrap(json.optional_object("rope_parameters"));
  const bool differs = parameters && newer && !newer->json().members().empty() &&
                       parameters->json().dump() != newer->json().dump();
  if (differs) {
    notes.warnings.push_back(json.source() +
                             ": \"rope_scaling\" and \"rope_parameters\" differ: the former is "
                             "used, as in transformers");
  }
  const bool has_own_theta = parameters && parameters->has("rope_theta");
  rope.theta = has_own_theta ? unwrap(parameters->required_float("rope_theta", 1, 1e12))
                             : unwrap(json.float_or(defaults.theta_key, rope.theta, 1, 1e12));
  if (has_own_theta && unwrap(json.float_or(defaults.theta_key, rope.theta)) != rope.theta) {
    notes.warnings.push_back(json.source() + ": " + in_quotes(defaults.theta_key) +
                             " differs from " + in_quotes(parameters->path() + ".rope_theta") +
                             ": the latter is used, as in transformers");
  }
  if (parameters) {
    read_scaling(json, *parameters, context, rope, notes, defaults);
  }
  read_partial_rotary(json, parameters ? &*parameters : nullptr, defaults, config.head_dim, rope);
  const int64_t pairs = (rope.rotated > 0 ? rope.rotated : config.head_dim) / 2;
  const auto check = [&](const char* key, const std::vector<float>& factors) {
    if (std::ssize(factors) == pairs) return;
    throw_error(parameters->field_error(key, "has the wrong number of factors",
                                        std::to_string(pairs) + ", one for each rotated pair"));
  };
  if (rope.scaling == RopeConfig::Scaling::kLongRope) {
    check("short_factor", rope.factors);
    if (!rope.long_factors.empty()) check("long_factor", rope.long_factors);
  }
  return rope;
}

Activation read_activation(const JsonObjectReader& json, const DecoderDefaults& defaults,
                           ConfigNotes& notes) {
  const char* key = defaults.activation_key;
  std::vector<std::string_view> names(activation_names().begin(), activation_names().end());
  // The class may have one with weights of its own.
  if (std::ranges::find(names, defaults.activation) == names.end()) {
    names.emplace_back(defaults.activation);
  }
  const std::string name =
      json.has(key) ? unwrap(json.required_choice(key, names)) : defaults.activation;
  if (std::string_view(key) == "hidden_act" && json.has("hidden_activation")) {
    const std::string other = unwrap(json.required_string("hidden_activation"));
    if (find_activation(other) != find_activation(name)) {
      notes.warnings.push_back(json.source() + ": \"hidden_activation\" is " + in_quotes(other) +
                               ", which is ignored, as in transformers: \"hidden_act\" is used (" +
                               name + ")");
    }
  }
  return *find_activation(name);
}

}  // namespace

int64_t int_or_default(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                       int64_t max, ConfigNotes& notes) {
  if (json.json().find(key)) return unwrap(json.required_int(key, min, max));
  notes.defaulted.push_back(std::string(key) + " (" + std::to_string(fallback) + ")");
  return fallback;
}

void check_divides(const JsonObjectReader& json, const char* key, int64_t value, int64_t divisor,
                   const char* divisor_key) {
  if (value % divisor == 0) return;
  throw_error(json.field_error(key, std::string("is not a multiple of ") + in_quotes(divisor_key),
                               "a multiple of " + std::to_string(divisor)));
}

std::optional<JsonObjectReader> rope_fields(const JsonObjectReader& json) {
  auto scaling = unwrap(json.optional_object("rope_scaling"));
  if (scaling && !scaling->json().members().empty()) return scaling;
  return unwrap(json.optional_object("rope_parameters"));
}

double read_clip(const JsonObjectReader& json) {
  // Smaller ones than f32 has as normal numbers would leave nothing.
  return unwrap(json.optional_float("clip_qkv", 0x1p-126)).value_or(0);
}

double read_cap(const JsonObjectReader& json, const char* key, double fallback) {
  const Json* field = json.json().find(key);
  if (field && field->is_null()) return 0;
  return field ? unwrap(json.required_float(key, 1e-3, 1e6)) : fallback;
}

std::vector<double> read_numbers(const JsonObjectReader& json, const char* key, double min,
                                 double max) {
  std::vector<double> numbers;
  for (const Json& item : *unwrap(json.required_array(key))) {
    if (!item.is_number() || item.as_double() < min || item.as_double() > max) {
      throw_error(json.item_error(
          item, key + ("[" + std::to_string(numbers.size())) + "]", "is not a number of the range",
          "a number from " + Json::number(min).dump() + " to " + Json::number(max).dump()));
    }
    numbers.push_back(item.as_double());
  }
  return numbers;
}

void read_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                  DecoderConfig& config, ConfigNotes& notes) {
  config.vocabulary =
      int_or_default(json, defaults.vocabulary_key, defaults.vocabulary, 1, kMaxVocabulary, notes);
  config.hidden = int_or_default(json, "hidden_size", defaults.hidden, 1, kMaxWidth, notes);
  config.layers = int_or_default(json, defaults.layers_key, defaults.layers, 1, kMaxLayers, notes);
  read_heads(json, defaults, config, notes);
  config.context =
      int_or_default(json, defaults.context_key, defaults.context, 1, kMaxContext, notes);
  if (defaults.intermediate > 0) {
    config.intermediate =
        int_or_default(json, defaults.intermediate_key, defaults.intermediate, 1, kMaxWidth, notes);
  }
  config.norm_epsilon = defaults.norm_epsilon;
  if (json.json().find(defaults.norm_epsilon_key)) {
    config.norm_epsilon = unwrap(json.required_float(defaults.norm_epsilon_key, 1e-12, 1));
  }
  config.rope = read_rope(json, defaults, config, notes);
  config.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", defaults.tied_embeddings));
  config.activation = read_activation(json, defaults, notes);
  notes.fields = config;
}

void read_layer_rotations(const JsonObjectReader& json, DecoderConfig& config, RopeConfig& local,
                          ConfigNotes& notes, const DecoderDefaults& defaults) {
  const auto parameters = unwrap(json.optional_object("rope_parameters"));
  if (!parameters) return;
  const auto read = [&](const char* kind, RopeConfig& rope) {
    const auto own = unwrap(parameters->optional_object(kind));
    if (!own) return;
    rope = {.theta = unwrap(own->float_or("rope_theta", rope.theta, 1, 1e12))};
    read_scaling(json, *own, config.context, rope, notes, defaults);
  };
  read("full_attention", config.rope);
  read("sliding_attention", local);
  notes.fields = config;
}

void read_gpt_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                      DecoderConfig& config, ConfigNotes& notes) {
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(json, key, fallback, 1, most, notes);
  };
  config.vocabulary = size("vocab_size", defaults.vocabulary, kMaxVocabulary);
  config.context = size("n_positions", defaults.context, kMaxContext);
  config.hidden = size("n_embd", defaults.hidden, kMaxWidth);
  config.layers = size("n_layer", defaults.layers, kMaxLayers);
  config.heads = config.kv_heads = size("n_head", defaults.heads, kMaxHeads);
  check_divides(json, "n_embd", config.hidden, config.heads, "n_head");
  config.head_dim = config.hidden / config.heads;
  config.intermediate = unwrap(json.int_or("n_inner", 4 * config.hidden, 1, kMaxWidth));
  config.norm_epsilon = unwrap(json.float_or("layer_norm_epsilon", 1e-5, 1e-12, 1));
  config.activation = activation_or(json, "activation_function", defaults.activation);
  config.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", defaults.tied_embeddings));
  if (!unwrap(json.bool_or("scale_attn_weights", true))) {
    throw_error(json.field_error("scale_attn_weights",
                                 "is false: scores without a scale are not supported", "true"));
  }
  refuse_set(json, "add_cross_attention", "is true: cross attention is not supported");
  notes.fields = config;
}

int64_t read_window(const JsonObjectReader& json, const DecoderConfig& config, int64_t fallback) {
  const Json* field = json.json().find("sliding_window");
  if (field && field->is_null()) return 0;
  const int64_t window =
      field ? unwrap(json.required_int("sliding_window", 1, kMaxContext)) : fallback;
  return window < config.context ? window : 0;
}

std::vector<bool> read_layer_types(const JsonObjectReader& json, const DecoderConfig& config,
                                   std::string_view marked, std::string_view other,
                                   const std::function<bool(int64_t layer)>& by_default,
                                   const char* key) {
  std::vector<bool> is_marked;
  if (!json.has(key)) {
    for (int64_t layer = 0; layer < config.layers; ++layer) is_marked.push_back(by_default(layer));
    return is_marked;
  }
  const auto types = unwrap(json.required_string_array(key));
  if (static_cast<int64_t>(types.size()) != config.layers) {
    throw_error(json.field_error(key, "has the wrong number of layers",
                                 std::to_string(config.layers) + " of them"));
  }
  for (const std::string& type : types) {
    if (type != marked && type != other) {
      throw_error(json.field_error(key, "holds " + in_quotes(type),
                                   in_quotes(other) + " or " + in_quotes(marked)));
    }
    is_marked.push_back(type == marked);
  }
  return is_marked;
}

std::vector<bool> read_windowed(const JsonObjectReader& json, const DecoderConfig& config,
                                const std::function<bool(int64_t layer)>& by_default,
                                std::string_view kind) {
  return read_layer_types(json, config, kind, "full_attention", by_default);
}

std::vector<int64_t> read_shared_layers(const JsonObjectReader& json, const DecoderConfig& config,
                                        int64_t fallback) {
  const char* key = "num_kv_shared_layers";
  const int64_t own = config.layers - unwrap(json.int_or(key, fallback, 0, config.layers));
  std::vector<int64_t> shared;
  int64_t last[] = {-1, -1};  // by kind, of the layers with their own
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const bool windowed = config.windowed.at(static_cast<size_t>(layer));
    if (layer < own) last[windowed] = layer;
    shared.push_back(layer < own ? -1 : last[windowed]);
    if (layer >= own && last[windowed] < 0) {
      throw_error(json.field_error(
          key, "leaves layer " + std::to_string(layer) + " no earlier layer of its kind",
          "fewer layers, so that one of each kind has keys and values"));
    }
  }
  return shared;
}

PerLayerConfig read_per_layer_embedding(const JsonObjectReader& json, const DecoderConfig& config,
                                        int64_t least_width, ConfigNotes& notes) {
  constexpr int64_t kWidth = 256, kRows = 262144;
  PerLayerConfig own = {
      .layers = config.layers, .activation = config.activation, .norm = norm_of(config)};
  own.width =
      int_or_default(json, "hidden_size_per_layer_input", kWidth, least_width, kMaxWidth, notes);
  if (own.width == 0) return own;
  own.rows = int_or_default(json, "vocab_size_per_layer_input", kRows, 1, kMaxVocabulary, notes);
  own.is_partial = own.rows < config.vocabulary;
  return own;
}

void read_upper_windows(const JsonObjectReader& json, DecoderConfig& config) {
  constexpr int64_t kWindow = 4096, kMaxWindowLayers = 28;
  if (!unwrap(json.bool_or("use_sliding_window", false))) return;
  config.window = read_window(json, config, kWindow);
  const int64_t full = unwrap(json.int_or("max_window_layers", kMaxWindowLayers, 0, kMaxLayers));
  config.windowed = read_windowed(json, config, [&](int64_t layer) { return layer >= full; });
}

int64_t read_experts(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                     const DecoderConfig& config, ConfigNotes& notes) {
  constexpr int64_t kMaxExperts = 4096;
  // Across all layers: each expert has three tensors in the files, which are looked up by name.
  constexpr int64_t kMaxExpertsOfAllLayers = int64_t{1} << 18;
  const int64_t experts = int_or_default(json, key, fallback, min, kMaxExperts, notes);
  if (experts <= kMaxExpertsOfAllLayers / config.layers) return experts;
  throw_error(json.field_error(
      key, "is too many for " + std::to_string(config.layers) + " layers",
      "at most " + std::to_string(kMaxExpertsOfAllLayers) + " in all layers together"));
}

std::vector<bool> read_sparse_layers(const JsonObjectReader& json, const DecoderConfig& config,
                                     int64_t experts) {
  std::vector<bool> sparse(static_cast<size_t>(config.layers), false);
  if (experts == 0) return sparse;
  const int64_t step = unwrap(json.int_or("decoder_sparse_step", 1, 1, kMaxLayers));
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    sparse[static_cast<size_t>(layer)] = (layer + 1) % step == 0;
  }
  if (!json.has("mlp_only_layers")) return sparse;
  for (const int64_t dense : unwrap(json.required_int_array("mlp_only_layers", 0, kMaxLayers))) {
    if (dense < config.layers) sparse[static_cast<size_t>(dense)] = false;
  }
  return sparse;
}

Activation activation_or(const JsonObjectReader& json, const char* key, std::string_view fallback) {
  return *find_activation(json.has(key) ? unwrap(json.required_choice(key, activation_names()))
                                        : fallback);
}

void refuse_set(const JsonObjectReader& json, const char* key, const char* reason) {
  if (json.has(key) && unwrap(json.required_bool(key))) {
    throw_error(json.field_error(key, reason, "false"));
  }
}

NormConfig norm_of(const DecoderConfig& config) { return {.epsilon = config.norm_epsilon}; }

NormConfig layer_norm_of(const DecoderConfig& config, bool bias) {
  return {.kind = NormConfig::Kind::kLayer, .epsilon = config.norm_epsilon, .bias = bias};
}

AttentionConfig attention_of(const DecoderConfig& config, int64_t layer) {
  const auto index = static_cast<size_t>(layer);
  const bool windowed = config.windowed.empty() || config.windowed.at(index);
  return {.heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .window = windowed ? config.window : 0,
          .rope = make_rope(config.rope, config.head_dim),
          .norm = norm_of(config),
          .qkv_bias = config.qkv_bias,
          .output_bias = config.output_bias};
}

FeedForwardConfig feed_forward_of(const DecoderConfig& config) {
  return {.inner = config.intermediate, .activation = config.activation};
}

DecoderModel decoder_model(const char* architecture, const DecoderConfig& config) {
  DecoderModel model;
  model.architecture = architecture;
  model.vocabulary = config.vocabulary;
  model.layers = config.layers;
  model.context = config.context;
  model.page_size = config.page_size;
  model.short_text = short_text_of(config.rope);
  model.tied_embeddings = config.tied_embeddings;
  return model;
}

EncoderModel encoder_model(const char* architecture, const DecoderConfig& config) {
  return {.architecture = architecture,
          .vocabulary = config.vocabulary,
          .context = config.context,
          .unused = {},
          .hidden_states = {}};
}

std::function<relax::Variable(Graph&, const relax::Variable&, bool)> logits_of(
    const DecoderConfig& config, const NormConfig& last, HeadConfig given,
    const DecoderModel& model) {
  given.vocabulary = config.vocabulary;
  given.weight = given.origin = model.head;
  return [last, given, path = model.last_norm, embedding = model.embedding](
             Graph& g, const relax::Variable& x, bool tied) {
    HeadConfig config = given;
    if (tied) config.weight = embedding;
    return head(g, norm(g, path, x, last), config);
  };
}

}  // namespace tapml::models
