// The fields that configurations of decoder-only transformers share.
#pragma once

#include <string>
#include <vector>

#include "io/json_reader.h"
#include "models/decoder.h"

namespace tapml::frontend {

// Far beyond every model that exists, so that products of them stay away from overflow.
inline constexpr int64_t kMaxWidth = int64_t{1} << 24;
inline constexpr int64_t kMaxLayers = 4096;

// What a reader says beside the configuration.
struct ConfigNotes {
  std::vector<std::string> defaulted;  // "hidden_size (4096)": fields that took their default
  std::vector<std::string> warnings;   // one sentence each: of fields that contradict each other
};

// The published defaults of an architecture's configuration class, for fields that are absent.
struct DecoderDefaults {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t context = 0;
};

// An integer from 1 (or `min`) on; absent, its default. Null is refused.
int64_t int_or_default(const JsonObjectReader& json, const char* key, int64_t fallback, int64_t min,
                       int64_t max, ConfigNotes& notes);

// All fields of `config` but the biases. UserError for everything that it cannot express.
void read_decoder(const JsonObjectReader& json, const DecoderDefaults& defaults,
                  models::DecoderConfig& config, ConfigNotes& notes);

}  // namespace tapml::frontend
