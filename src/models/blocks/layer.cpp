#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

Variable pre_norm_layer(Graph& g, const std::string& path, const Variable& x,
                        const NormConfig& config, const Part& mix, const Part& feed,
                        const PreNormNames& names) {
  const Variable mixed = mix(norm(g, path + "." + names.before_mix, x, config));
  const Variable sum = residual(g, path, x, mixed);
  const Variable fed = feed(norm(g, path + "." + names.before_feed, sum, config));
  return residual(g, path, sum, fed);
}

Variable parallel_layer(Graph& g, const std::string& path, const Variable& x,
                        const NormConfig& config, const Part& mix, const Part& feed) {
  const Variable y = norm(g, path + ".input_layernorm", x, config);
  const Variable mixed = mix(y);
  const Variable fed = feed(y);
  return residual(g, path, residual(g, path, x, mixed), fed);
}

Variable post_norm_layer(Graph& g, const std::string& path, const Variable& x,
                         const NormConfig& config, const Part& mix, const Part& feed) {
  const Variable mixed = norm(g, path + ".post_attention_layernorm", mix(x), config);
  const Variable sum = residual(g, path, x, mixed);
  const Variable fed = norm(g, path + ".post_feedforward_layernorm", feed(sum), config);
  return residual(g, path, sum, fed);
}

Variable normed_sum_layer(Graph& g, const std::string& path, const Variable& x,
                          const NormConfig& config, const Part& mix, const Part& feed,
                          const NormedSumNames& names) {
  const auto part = [&](const Variable& y, const Part& own, const char* after) {
    return norm(g, path + "." + after, residual(g, path, y, own(y)), config);
  };
  return part(part(x, mix, names.after_mix), feed, names.after_feed);
}

Variable sandwich_layer(Graph& g, const std::string& path, const Variable& x,
                        const NormConfig& config, const Part& mix, const Part& feed,
                        const SandwichNames& names) {
  const auto part = [&](const Variable& y, const char* before, const Part& own, const char* after) {
    const Variable out = own(norm(g, path + "." + before, y, config));
    return residual(g, path, y, norm(g, path + "." + after, out, config));
  };
  const Variable sum = part(x, names.before_mix, mix, names.after_mix);
  return part(sum, names.before_feed, feed, names.after_feed);
}

}  // namespace tapml::models
