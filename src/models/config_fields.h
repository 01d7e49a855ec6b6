// The configuration fields that decoder-only transformers share.
#pragma once

#include <string>
#include <vector>

#include "io/json_reader.h"
#include "models/decoder.h"

namespace tapml::frontend {

// Far above every existing model, so that products cannot overflow.
inline constexpr int64_t kMaxWidth = int64_t{1} << 24;
inline constexpr int64_t kMaxLayers = 4096;

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
                  models::DecoderConfig& config, ConfigNotes& notes);

}  // namespace tapml::frontend
