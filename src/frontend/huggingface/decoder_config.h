// The fields that configurations of decoder-only transformers share.
#pragma once

#include "io/json_reader.h"
#include "models/decoder.h"

namespace tapml::frontend {

// Far beyond every model that exists, so that products of them stay away from overflow.
inline constexpr int64_t kMaxWidth = int64_t{1} << 24;
inline constexpr int64_t kMaxLayers = 4096;

// All fields of `config` but the biases. UserError for everything that it cannot express.
void read_decoder(const JsonObjectReader& json, models::DecoderConfig& config);

}  // namespace tapml::frontend
