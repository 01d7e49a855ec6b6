// The fields of a config.json that decoders share, and encoders with them, as Hugging Face names
// them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "models/blocks/attention.h"
#include "models/blocks/embedding.h"
#include "models/blocks/feed_forward.h"
#include "models/blocks/per_layer_embedding.h"
#include "models/decoder.h"
#include "models/encoder.h"

namespace tapml::models {

// Far above every existing model, so that products cannot overflow.
inline constexpr int64_t kMaxHeadDim = int64_t{1} << 14;
inline constexpr int64_t kMaxWidth = int64_t{1} << 24;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxContext = int64_t{1} << 24;
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 26;
// Of models whose state does not grow with the text: a bound of the number of tokens is needed all
// the same.
inline constexpr int64_t kRecurrentContext = int64_t{1} << 20;

struct DecoderConfig {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;      // divides heads
  int64_t head_dim = 0;      // even
  int64_t context = 0;       // maximum number of tokens in a sequence
  int64_t intermediate = 0;  // width of the feed-forward part
  Activation activation = Activation::kSilu;
  double norm_epsilon = 1e-6;
  RopeConfig rope;
  bool tied_embeddings = false;  // lm_head uses the embedding's weight
  bool qkv_bias = false;         // on the projections to q, k, v
  bool output_bias = false;      // on the attention output projection
  int64_t window = 0;            // of the layers that attend to a window; 0: none does
  std::vector<bool> windowed;    // by layer; empty: all, if there is a window
  int64_t page_size = 16;        // tokens in a page of the KV cache
};

// Notes from a reader in addition to the configuration.
struct ConfigNotes {
  std::vector<std::string> defaulted;  // "hidden_size (4096)": fields that got their default
  std::vector<std::string> warnings;   // one sentence for each contradiction between fields
  // What read_decoder() or read_gpt_decoder() has read, without what only one architecture has.
  std::optional<DecoderConfig> fields = {};
};

// The kinds of "rope_scaling" that an architecture's published code knows, beside "default".
enum class RopeScalings : uint8_t {
  kTransformers,  // linear, llama3 and yarn, as every decoder of transformers
  kProportional,  // these, and proportional
  // linear, and "dynamic", which changes only texts above the context, which the model has not
  kLinearAndDynamic,
  kNone,
};

// What an architecture's configuration class says: defaults of absent fields, names of fields.
struct DecoderDefaults {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // 0: same as heads
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t context = 0;
  int64_t intermediate = 0;
  const char* vocabulary_key = "vocab_size";
  const char* layers_key = "num_hidden_layers";
  const char* kv_heads_key = "num_key_value_heads";
  const char* head_dim_key = "head_dim";
  const char* context_key = "max_position_embeddings";
  const char* intermediate_key = "intermediate_size";
  const char* norm_epsilon_key = "rms_norm_eps";
  double norm_epsilon = 1e-6;
  double theta = 10000;
  // Part of a head that is rotated; 0: always the whole head, and a configuration that says
  // otherwise is refused.
  double partial_rotary = 0;
  const char* partial_rotary_key = "partial_rotary_factor";  // at the top level
  const char* theta_key = "rope_theta";                      // at the top level
  const char* activation_key = "hidden_act";
  const char* activation = "silu";
  bool tied_embeddings = false;
  RopeScalings scalings = RopeScalings::kTransformers;
  // Default of "original_max_position_embeddings" of the scaling "longrope"; 0: it is refused.
  int64_t original_context = 0;
  bool yarn_is_longrope = false;  // the class takes "yarn" for an older name of "longrope"
};

// An integer of at least 1 (or `min`), or the default if absent. Null is rejected.
int64_t int_or_default(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                       int64_t max, ConfigNotes& notes);

// UserError at `key` for a value that is not a multiple of another field's.
void check_divides(const JsonObjectReader& json, const char* key, int64_t value, int64_t divisor,
                   const char* divisor_key);

// Reads all fields of `config` except the biases and the window. UserError for anything that it
// cannot express.
void read_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                  DecoderConfig& config, ConfigNotes& notes);

// The fields of the rotation, as transformers 5 takes them: "rope_scaling", if it is not empty,
// else "rope_parameters".
std::optional<JsonObjectReader> rope_fields(const JsonObjectReader& json);

// transformers 5 may have rotations for each kind of layer in "rope_parameters": those of
// "full_attention" go to config.rope, those of "sliding_attention" to `local`.
void read_layer_rotations(const JsonObjectReader& json, DecoderConfig& config, RopeConfig& local,
                          ConfigNotes& notes, const DecoderDefaults& defaults = {});
// The same fields under the names that GPT-2's configuration has for them ("n_embd"). Without
// intermediate, it is 4 hidden.
void read_gpt_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                      DecoderConfig& config, ConfigNotes& notes);
// "sliding_window", or `fallback` where the field is absent; 0, no window, if it is null or not
// below the context.
int64_t read_window(const JsonObjectReader& json, const DecoderConfig& config, int64_t fallback);
// The layers that the field `key` calls `marked`, where all others are `other`; without that field,
// those for which `by_default` is true.
std::vector<bool> read_layer_types(const JsonObjectReader& json, const DecoderConfig& config,
                                   std::string_view marked, std::string_view other,
                                   const std::function<bool(int64_t layer)>& by_default,
                                   const char* key = "layer_types");
// The layers that attend to the window: those that "layer_types" calls "sliding_attention", or
// `kind`, or, without that field, those for which `by_default` is true.
std::vector<bool> read_windowed(const JsonObjectReader& json, const DecoderConfig& config,
                                const std::function<bool(int64_t layer)>& by_default,
                                std::string_view kind = "sliding_attention");
// "num_kv_shared_layers", the last ones that attend to keys and values of an earlier layer, the
// last one of their kind that has its own: this layer, or -1 for own ones, of each.
std::vector<int64_t> read_shared_layers(const JsonObjectReader& json, const DecoderConfig& config,
                                        int64_t fallback);
// "hidden_size_per_layer_input" and "vocab_size_per_layer_input".
PerLayerConfig read_per_layer_embedding(const JsonObjectReader& json, const DecoderConfig& config,
                                        int64_t least_width, ConfigNotes& notes);
// What a tanh caps scores or logits at; 0, no cap, if the field is null.
double read_cap(const JsonObjectReader& json, const char* key, double fallback);
// "clip_qkv": what queries, keys and values are at most; 0, no limit, if it is absent or null.
double read_clip(const JsonObjectReader& json);
// The elements of an array of numbers from `min` to `max`.
std::vector<double> read_numbers(const JsonObjectReader& json, const char* key, double min,
                                 double max);
// "use_sliding_window", "sliding_window", "max_window_layers" and "layer_types" of Qwen 2 and 3:
// the window is in the layers from max_window_layers on.
void read_upper_windows(const JsonObjectReader& json, DecoderConfig& config);
// The number of experts at `key`, so that those of all layers together have few enough tensors.
int64_t read_experts(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                     const DecoderConfig& config, ConfigNotes& notes);
// The layers with experts: each "decoder_sparse_step"-th but those of "mlp_only_layers"; none if
// there are no experts.
std::vector<bool> read_sparse_layers(const JsonObjectReader& json, const DecoderConfig& config,
                                     int64_t experts);
// The activation that a field names, or `fallback` where it is absent.
Activation activation_or(const JsonObjectReader& json, const char* key, std::string_view fallback);
// UserError for a field that has another value than false or 0.
void refuse_set(const JsonObjectReader& json, const char* key, const char* reason);

// The blocks that these fields describe.
NormConfig norm_of(const DecoderConfig& config);
NormConfig layer_norm_of(const DecoderConfig& config, bool bias = true);
AttentionConfig attention_of(const DecoderConfig& config, int64_t layer = 0);
FeedForwardConfig feed_forward_of(const DecoderConfig& config);
// All of a DecoderModel but its hidden states and its logits.
DecoderModel decoder_model(const char* architecture, const DecoderConfig& config);
// All of an EncoderModel but its hidden states and the weights that it leaves out.
EncoderModel encoder_model(const char* architecture, const DecoderConfig& config);
// The logits of all: the last norm, then the head or the embedding, at the paths of `model`. `head`
// says the rest.
std::function<relax::Variable(Graph&, const relax::Variable&, bool)> logits_of(
    const DecoderConfig& config, const NormConfig& norm, HeadConfig head = {},
    const DecoderModel& model = {});

}  // namespace tapml::models
