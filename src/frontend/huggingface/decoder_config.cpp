#include "frontend/huggingface/decoder_config.h"

#include <array>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

using models::DecoderConfig;
using models::RopeConfig;

namespace {

// Far beyond every model that exists, so that products of them stay away from overflow.
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

void read_heads(const JsonObjectReader& json, DecoderConfig& config) {
  config.heads = unwrap(json.required_int("num_attention_heads", 1, kMaxHeads));
  config.kv_heads = unwrap(json.int_or("num_key_value_heads", config.heads, 1, config.heads));
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
        json.field_error(key, "gives heads of an odd width, which rotary positions cannot turn",
                         "an even width of a head, not " + std::to_string(config.head_dim)));
  }
}

void read_llama3(const JsonObjectReader& top, const JsonObjectReader& json, RopeConfig& rope) {
  rope.scaling = RopeConfig::Scaling::kLlama3;
  rope.factor = unwrap(json.required_float("factor", 1, 1e6));
  rope.low_freq_factor = unwrap(json.required_float("low_freq_factor", 1e-6, 1e6));
  rope.high_freq_factor = unwrap(json.required_float("high_freq_factor", 1e-6, 1e6));
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    throw_error(json.field_error("high_freq_factor", "is not above \"low_freq_factor\"",
                                 "a number above " + Json::number(rope.low_freq_factor).dump()));
  }
  const char* key = "original_max_position_embeddings";
  const JsonObjectReader& holder = !json.has(key) && top.has(key) ? top : json;
  rope.original_context = unwrap(holder.required_int(key, 1, kMaxContext));
}

// `json` is rope_parameters or rope_scaling.
void read_scaling(const JsonObjectReader& top, const JsonObjectReader& json, RopeConfig& rope) {
  static constexpr std::array<std::string_view, 3> kTypes = {"default", "linear", "llama3"};
  const char* key = json.has("rope_type") || !json.has("type") ? "rope_type" : "type";
  const bool is_parameters = json.path() == "rope_parameters";
  if (is_parameters && !json.has(key)) return;
  const std::string type = unwrap(json.required_choice(key, kTypes));
  if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::kLinear;
    rope.factor = unwrap(json.required_float("factor", 1, 1e6));
  } else if (type == "llama3") {
    read_llama3(top, json, rope);
  }
}

RopeConfig read_rope(const JsonObjectReader& json) {
  RopeConfig rope;
  auto parameters = unwrap(json.optional_object("rope_parameters"));
  auto scaling = unwrap(json.optional_object("rope_scaling"));
  const bool has_own_theta = parameters && parameters->has("rope_theta");
  rope.theta =
      unwrap((has_own_theta ? *parameters : json).float_or("rope_theta", rope.theta, 1, 1e12));
  if (parameters) {
    read_scaling(json, *parameters, rope);
  } else if (scaling) {
    read_scaling(json, *scaling, rope);
  }
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

}  // namespace

void read_decoder(const JsonObjectReader& json, DecoderConfig& config) {
  config.vocabulary = unwrap(json.required_int("vocab_size", 1, kMaxVocabulary));
  config.hidden = unwrap(json.required_int("hidden_size", 1, kMaxWidth));
  config.layers = unwrap(json.required_int("num_hidden_layers", 1, kMaxLayers));
  read_heads(json, config);
  config.context = unwrap(json.required_int("max_position_embeddings", 1, kMaxContext));
  config.rms_norm_epsilon = unwrap(json.required_float("rms_norm_eps", 1e-12, 1));
  config.rope = read_rope(json);
  config.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", false));

  static constexpr std::array<std::string_view, 2> kActivations = {"silu", "swish"};
  if (json.has("hidden_act")) unwrap(json.required_choice("hidden_act", kActivations));
  if (json.has("quantization_config")) {
    throw_error(json.field_error("quantization_config",
                                 "is present: quantized weights are not supported",
                                 "no such field, with weights in f32, f16 or bf16"));
  }
}

}  // namespace tapml::frontend
