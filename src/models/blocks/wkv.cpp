#include "models/blocks/wkv.h"

#include <numeric>

#include "models/blocks/program_text.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

std::string wkv_program(std::string text, const WkvConfig& config) {
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"HEADS", config.heads},
      {"SIZE", config.size},
      {"ALL", config.heads * config.size},
      {"PAIR", 2 * config.size},
      {"LANES", std::gcd(config.size, int64_t{8})}};
  return with_numbers(std::move(text), numbers);
}

Variable in_wkv_heads(Graph& g, const Variable& x, const WkvConfig& config) {
  const auto shape = make_shape({g.batch(), g.tokens(), config.heads, config.size});
  return g.op("reshape", {g.widened(x), shape});
}

Variable wkv_scan(Graph& g, int64_t layer, const std::string& path, std::vector<relax::Expr> inputs,
                  const WkvConfig& config) {
  const int64_t width = config.heads * config.size;
  g.origin(path);
  relax::Expr& state = g.state({.name = "wkv." + std::to_string(layer),
                                .kind = StateKind::kRecurrent,
                                .shape = {config.heads, config.size, config.size}});
  inputs.emplace_back(g.slots());
  const Dims shape = {g.batch(), g.tokens(), config.heads, config.size};
  Variable out = g.call_program(config.program, std::move(inputs), state,
                                relax::tensor_annotation(shape, DType::kF32));
  const std::string norm = path + "." + config.norm;
  g.origin(norm);
  out = g.op("reshape", {out, make_shape({g.batch() * g.tokens(), width})});
  out = g.op("group_norm",
             {out, g.stored_weight({norm + ".weight", {width}, {}}),
              g.stored_weight({norm + ".bias", {width}, {}})},
             {{"groups", config.heads}, {"epsilon", config.norm_epsilon}});
  return g.op("reshape", {out, make_shape({g.batch(), g.tokens(), width})});
}

Variable wkv(Graph& g, int64_t layer, const std::string& path, const Variable& r, const Variable& k,
             const Variable& v, const Variable& decay, const WkvConfig& config) {
  g.origin(path);
  const Variable first =
      g.widened(g.stored_weight({path + ".time_faaaa", {config.heads, config.size}, {}}));
  return wkv_scan(g, layer, path,
                  {in_wkv_heads(g, r, config), in_wkv_heads(g, k, config),
                   in_wkv_heads(g, v, config), decay, first},
                  config);
}

}  // namespace tapml::models
