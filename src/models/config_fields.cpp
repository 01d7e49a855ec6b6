#include "models/config_fields.h"

#include <array>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/blocks/embedding.h"

namespace tapml::models {

namespace {

// Far above every existing model, so that products cannot overflow.
constexpr int64_t kMaxContext = int64_t{1} << 24;
constexpr int64_t kMaxVocabulary = int64_t{1} << 26;
constexpr int64_t kMaxHeads = int64_t{1} << 16;
constexpr int64_t kMaxHeadDim = int64_t{1} << 14;

void check_divides(const JsonObjectReader& json, const char* key, int64_t value, int64_t divisor,
                   const char* divisor_key) {
  if (value % divisor == 0) return;
  throw_error(json.field_error(key, std::string("is not a multiple of ") + in_quotes(divisor_key),
                               "a multiple of " + std::to_string(divisor)));
}

void read_heads(const JsonObjectReader& json, const DecoderDefaults& defaults,
                DecoderConfig& config, ConfigNotes& notes) {
  config.heads = int_or_default(json, "num_attention_heads", defaults.heads, 1, kMaxHeads, notes);
  if (defaults.kv_heads == 0 || json.has("num_key_value_heads")) {
    config.kv_heads = unwrap(json.int_or("num_key_value_heads", config.heads, 1, config.heads));
  } else {
    config.kv_heads =
        int_or_default(json, "num_key_value_heads", defaults.kv_heads, 1, config.heads, notes);
    if (config.kv_heads > config.heads) {
      throw_error(json.field_error(
          "num_attention_heads", "is below the default of \"num_key_value_heads\", which is absent",
          "at least " + std::to_string(config.kv_heads) + ", or \"num_key_value_heads\""));
    }
  }
  check_divides(json, "num_attention_heads", config.heads, config.kv_heads, "num_key_value_heads");
  if (auto head_dim = unwrap(json.optional_int("head_dim", 2, kMaxHeadDim))) {
    config.head_dim = *head_dim;
  } else {
    check_divides(json, "hidden_size", config.hidden, config.heads, "num_attention_heads");
    config.head_dim = config.hidden / config.heads;
  }
  if (config.head_dim % 2 != 0) {
    const char* key = json.has("head_dim") ? "head_dim" : "hidden_size";
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

// `json` is rope_parameters or rope_scaling.
void read_scaling(const JsonObjectReader& top, const JsonObjectReader& json, int64_t context,
                  RopeConfig& rope, ConfigNotes& notes) {
  static constexpr std::array<std::string_view, 3> kTypes = {"default", "linear", "llama3"};
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
  const std::string type = unwrap(json.required_choice(key, kTypes));
  if (json.has("rope_type") && json.has("type") && unwrap(json.required_string("type")) != type) {
    notes.warnings.push_back(json.source() + ": " + in_quotes(json.path()) +
                             " has two types: \"rope_type\" is used, as in transformers");
  }
  if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::kLinear;
    rope.factor = unwrap(json.required_float("factor", 1, 1e6));
  } else if (type == "llama3") {
    read_llama3(top, json, context, rope, notes);
  }
}

// Like transformers 5: rope_scaling, if not empty, takes precedence over rope_parameters, and
// fields in either take precedence over the same field at the top level.
RopeConfig read_rope(const JsonObjectReader& json, int64_t context, ConfigNotes& notes) {
  RopeConfig rope;
  auto parameters = unwrap(json.optional_object("rope_parameters"));
  auto scaling = unwrap(json.optional_object("rope_scaling"));
  const auto says_something = [](const auto& object) {
    return object && !object->json().members().empty();
  };
  if (says_something(scaling)) {
    if (says_something(parameters) && scaling->json().dump() != parameters->json().dump()) {
      notes.warnings.push_back(json.source() +
                               ": \"rope_scaling\" and \"rope_parameters\" differ: the former is "
                               "used, as in transformers");
    }
    parameters = scaling;
  }
  const bool has_own_theta = parameters && parameters->has("rope_theta");
  rope.theta =
      unwrap((has_own_theta ? *parameters : json).float_or("rope_theta", rope.theta, 1, 1e12));
  if (has_own_theta && unwrap(json.float_or("rope_theta", rope.theta)) != rope.theta) {
    notes.warnings.push_back(json.source() + ": \"rope_theta\" differs from " +
                             in_quotes(parameters->path() + ".rope_theta") +
                             ": the latter is used, as in transformers");
  }
  if (parameters) read_scaling(json, *parameters, context, rope, notes);
  std::vector<const JsonObjectReader*> holders = {&json};
  if (parameters) holders.push_back(&*parameters);
  for (const JsonObjectReader* holder : holders) {
    if (unwrap(holder->float_or("partial_rotary_factor", 1)) != 1) {
      throw_error(holder->field_error("partial_rotary_factor",
                                      "is not 1: rotating a part of a head is not supported", "1"));
    }
  }
  return rope;
}

void read_activation(const JsonObjectReader& json, ConfigNotes& notes) {
  static constexpr std::array<std::string_view, 2> kActivations = {"silu", "swish"};
  if (json.has("hidden_act")) unwrap(json.required_choice("hidden_act", kActivations));
  if (!json.has("hidden_activation")) return;
  const std::string other = unwrap(json.required_string("hidden_activation"));
  if (other == "silu" || other == "swish") return;
  notes.warnings.push_back(json.source() + ": \"hidden_activation\" is " + in_quotes(other) +
                           ", which is ignored, as in transformers: \"hidden_act\" is used (silu)");
}

}  // namespace

int64_t int_or_default(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                       int64_t max, ConfigNotes& notes) {
  if (json.json().find(key)) return unwrap(json.required_int(key, min, max));
  notes.defaulted.push_back(std::string(key) + " (" + std::to_string(fallback) + ")");
  return fallback;
}

void read_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                  DecoderConfig& config, ConfigNotes& notes) {
  config.vocabulary =
      int_or_default(json, "vocab_size", defaults.vocabulary, 1, kMaxVocabulary, notes);
  config.hidden = int_or_default(json, "hidden_size", defaults.hidden, 1, kMaxWidth, notes);
  config.layers = int_or_default(json, "num_hidden_layers", defaults.layers, 1, kMaxLayers, notes);
  read_heads(json, defaults, config, notes);
  config.context =
      int_or_default(json, "max_position_embeddings", defaults.context, 1, kMaxContext, notes);
  config.rms_norm_epsilon =
      unwrap(json.json().find("rms_norm_eps") ? json.required_float("rms_norm_eps", 1e-12, 1)
                                              : Result<double>(1e-6));
  config.rope = read_rope(json, config.context, notes);
  config.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", false));
  read_activation(json, notes);
  if (json.has("quantization_config")) {
    throw_error(json.field_error("quantization_config",
                                 "is present: quantized weights are not supported",
                                 "no such field, with weights in f32, f16 or bf16"));
  }
}

NormConfig norm_of(const DecoderConfig& config) { return {.epsilon = config.rms_norm_epsilon}; }

AttentionConfig attention_of(const DecoderConfig& config) {
  return {.heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .rope = make_rope(config.rope, config.head_dim),
          .norm = norm_of(config),
          .qkv_bias = config.qkv_bias,
          .output_bias = config.output_bias};
}

DecoderModel decoder_model(const char* architecture, const DecoderConfig& config) {
  DecoderModel model;
  model.architecture = architecture;
  model.vocabulary = config.vocabulary;
  model.layers = config.layers;
  model.context = config.context;
  model.page_size = config.page_size;
  model.tied_embeddings = config.tied_embeddings;
  const NormConfig last = norm_of(config);
  const int64_t vocabulary = config.vocabulary;
  model.logits = [last, vocabulary](Graph& g, const relax::Variable& x, bool tied) {
    return head(g, norm(g, "model.norm", x, last),
                {.weight = tied ? "model.embed_tokens" : "lm_head", .vocabulary = vocabulary});
  };
  return model;
}

}  // namespace tapml::models
