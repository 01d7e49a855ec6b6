// Model directories with random weights.
#pragma once

#include <cstdint>
#include <string>

namespace tapml::app {

// Writes config.json, a copy of the file `config`, and model.safetensors with a random f32 tensor
// for each weight of the published files, into `folder`. There is no tokenizer. The same seed gives
// the same bytes. The weights keep values near 1 through the layers, so that all of them matter:
// matrices are uniform with the variance 1 / columns, vectors, which are norms, within 1 ± 0.5, and
// biases within ± 0.5. Logs the configuration's warnings. UserError for a configuration that cannot
// be read, and for more weights than fit in the memory as f64, in which models are compared.
void write_random_model(const std::string& config, uint64_t seed, const std::string& folder);

}  // namespace tapml::app
