// The fields of a config.json that decoders share, as Hugging Face names them.
#pragma once

#include <string>
#include <vector>

#include "io/json_reader.h"
#include "models/blocks/attention.h"
#include "models/blocks/feed_forward.h"
#include "models/decoder.h"

namespace tapml::models {

// Far above every existing model, so that products cannot overflow.
inline constexpr int64_t kMaxWidth = int64_t{1} << 24;
inline constexpr int64_t kMaxLayers = 4096;

struct DecoderConfig {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;  // even
  int64_t context = 0;   // maximum number of tokens in a sequence
  double rms_norm_epsilon = 1e-6;
  RopeConfig rope;
  bool tied_embeddings = false;  // lm_head uses the embedding's weight
  bool qkv_bias = false;         // on the projections to q, k, v
  bool output_bias = false;      // on the attention output projection
  int64_t page_size = 16;        // tokens in a page of the KV cache
};

// Notes from a reader in addition to the configuration.
struct ConfigNotes {
  std::vector<std::string> defaulted;  // "hidden_size (4096)": fields that got their default
  std::vector<std::string> warnings;   // one sentence for each contradiction between fields
};

// Defaults for absent fields, as published in an architecture's configuration class.
struct DecoderDefaults {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // 0: same as heads
  int64_t context = 0;
};

// An integer of at least 1 (or `min`), or the default if absent. Null is rejected.
int64_t int_or_default(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                       int64_t max, ConfigNotes& notes);

// Reads all fields of `config` except the biases. UserError for anything that it cannot express.
void read_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                  DecoderConfig& config, ConfigNotes& notes);

// The blocks that these fields describe.
NormConfig norm_of(const DecoderConfig& config);
AttentionConfig attention_of(const DecoderConfig& config);
// All of a DecoderModel but its hidden states: RMS norm "model.norm" and "lm_head" at the end.
DecoderModel decoder_model(const char* architecture, const DecoderConfig& config);

}  // namespace tapml::models
