#include "models/blocks/feed_forward.h"

#include <algorithm>

namespace tapml::models {

using relax::Variable;

namespace {

struct Name {
  std::string_view name;
  Activation activation;
};

// As in transformers: gelu_new, gelu_fast and gelu_pytorch_tanh are one formula.
constexpr std::array kNames = {
    Name{"silu", Activation::kSilu},          Name{"swish", Activation::kSilu},
    Name{"gelu", Activation::kGelu},          Name{"gelu_new", Activation::kGeluTanh},
    Name{"gelu_fast", Activation::kGeluTanh}, Name{"gelu_pytorch_tanh", Activation::kGeluTanh},
    Name{"relu", Activation::kRelu},          Name{"relu2", Activation::kSquaredRelu}};

}  // namespace

std::optional<Activation> find_activation(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &Name::name);
  return found == kNames.end() ? std::nullopt : std::optional(found->activation);
}

std::span<const std::string_view> activation_names() {
  static const auto kAll = [] {
    std::array<std::string_view, kNames.size()> names;
    std::ranges::transform(kNames, names.begin(), &Name::name);
    return names;
  }();
  return kAll;
}

Variable activate(Graph& g, const Variable& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return g.op("silu", {x});
    case Activation::kGelu:
      return g.op("gelu", {x});
    case Activation::kGeluTanh:
      return g.op("gelu", {x}, {{"approximate", std::string("tanh")}});
    case Activation::kRelu:
      return g.op("relu", {x});
    case Activation::kSquaredRelu: {
      const Variable positive = g.op("relu", {x});
      return g.op("multiply", {positive, positive});
    }
  }
  return x;
}

Variable gated_feed_forward(Graph& g, const std::string& path, const Variable& x,
                            const FeedForwardConfig& config) {
  const LinearConfig projection = {.bias = config.bias, .transposed = config.transposed};
  Variable gate = linear(g, path + "." + config.gate, x, config.inner, projection);
  const Variable up = linear(g, path + "." + config.up, x, config.inner, projection);
  g.origin(path + ".act_fn");
  gate = activate(g, gate, config.activation);
  g.origin(path);
  return linear(g, path + "." + config.down, g.op("multiply", {gate, up}), Graph::width(x),
                projection);
}

Variable fused_gated_feed_forward(Graph& g, const std::string& path, const Variable& x,
                                  const FeedForwardConfig& config) {
  const LinearConfig projection = {.bias = config.bias};
  const Variable both = linear(g, path + "." + config.gate_up, x, 2 * config.inner, projection);
  g.origin(path);
  const Variable parts = g.op("split", {both}, {{"axis", int64_t{-1}}, {"sections", int64_t{2}}});
  const Variable gate = activate(g, g.field(parts, 0), config.activation);
  return linear(g, path + "." + config.down, g.op("multiply", {g.field(parts, 1), gate}),
                Graph::width(x), projection);
}

Variable feed_forward(Graph& g, const std::string& path, const Variable& x,
                      const FeedForwardConfig& config) {
  const LinearConfig projection = {.bias = config.bias, .transposed = config.transposed};
  Variable up = linear(g, path + "." + config.up, x, config.inner, projection);
  g.origin(path + ".act_fn");
  up = activate(g, up, config.activation);
  return linear(g, path + "." + config.down, up, Graph::width(x), projection);
}

}  // namespace tapml::models
