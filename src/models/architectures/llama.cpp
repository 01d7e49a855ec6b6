#include "models/llama.h"

namespace tapml::models {

namespace {

DecoderArchitecture llama(const LlamaConfig& config) {
  return {
      .name = "llama",
      .feed_forward_weights =
          [&config](int64_t layer, std::vector<WeightSpec>& weights) {
            const std::string path = layer_path(layer) + ".mlp";
            const int64_t hidden = config.hidden, inner = config.intermediate;
            add_linear(weights, path + ".gate_proj", inner, hidden, config.mlp_bias);
            add_linear(weights, path + ".up_proj", inner, hidden, config.mlp_bias);
            add_linear(weights, path + ".down_proj", hidden, inner, config.mlp_bias);
          },
      .feed_forward =
          [](DecoderFunction& f, int64_t layer, const relax::Variable& x) {
            return f.gated(layer_path(layer) + ".mlp", x);
          },
  };
}

}  // namespace

std::vector<WeightSpec> llama_weights(const LlamaConfig& config) {
  return decoder_weights(config, llama(config));
}

Module build_llama(const LlamaConfig& config, const ModelDTypes& dtypes) {
  return build_decoder(config, llama(config), dtypes);
}

}  // namespace tapml::models
