#include "models/blocks/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/blocks/xielu.h"

namespace tapml::models {

using relax::Variable;

namespace {

struct Name {
  std::string_view name;
  Activation activation;
};

// As in transformers: gelu_new, gelu_fast and gelu_pytorch_tanh are one formula. The last one has
// weights.
constexpr std::array kNames = {Name{"silu", Activation::kSilu},
                               Name{"swish", Activation::kSilu},
                               Name{"gelu", Activation::kGelu},
                               Name{"gelu_new", Activation::kGeluTanh},
                               Name{"gelu_fast", Activation::kGeluTanh},
                               Name{"gelu_pytorch_tanh", Activation::kGeluTanh},
                               Name{"relu", Activation::kRelu},
                               Name{"relu2", Activation::kSquaredRelu},
                               Name{"quick_gelu", Activation::kQuickGelu},
                               Name{"xielu", Activation::kXielu}};

// x * sigmoid(1.702 x) approximates the GELU (Hendrycks and Gimpel 2016, section 2).
constexpr double kQuickGeluSlope = 1.702;

// Below which a normal variable of mean 0 and deviation 1 is with this probability.
double normal_quantile(double probability) {
  double low = -40, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < probability ? low : high) = middle;
  }
  return low;
}

Variable above_threshold(Graph& g, const Variable& x, double sparsity) {
  const AttrMap row = {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}};
  const Variable wide = g.widened(x);
  const Variable deviation = g.op("sqrt", {g.op("variance", {wide}, row)});
  const Variable threshold =
      g.add(g.op("mean", {wide}, row), g.scaled(deviation, normal_quantile(sparsity)));
  return g.narrowed(g.op("relu", {g.op("subtract", {wide, threshold})}));
}

}  // namespace

std::optional<Activation> find_activation(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &Name::name);
  return found == kNames.end() ? std::nullopt : std::optional(found->activation);
}

std::span<const std::string_view> activation_names() {
  static const auto kAll = [] {
    std::array<std::string_view, kNames.size() - 1> names;
    std::ranges::transform(std::span(kNames).first(names.size()), names.begin(), &Name::name);
    return names;
  }();
  return kAll;
}

Variable activate(Graph& g, const Variable& x, Activation activation, const std::string& path) {
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
    case Activation::kQuickGelu:
      return g.op("multiply", {x, g.op("sigmoid", {g.scaled(x, kQuickGeluSlope)})});
    case Activation::kXielu:
      return xielu(g, path, x);
  }
  return x;
}

Variable gated_feed_forward(Graph& g, const std::string& path, const Variable& x,
                            const FeedForwardConfig& config) {
  const LinearConfig projection = {.bias = config.bias, .transposed = config.transposed};
  Variable gate = linear(g, path + "." + config.gate, x, config.inner, projection);
  const Variable up = linear(g, path + "." + config.up, x, config.inner, projection);
  g.origin(path);
  gate = g.scaled(gate, config.gate_factor);
  if (config.sparsity > 0) gate = above_threshold(g, gate, config.sparsity);
  g.origin(path + ".act_fn");
  gate = activate(g, gate, config.activation, path + ".act_fn");
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
  up = activate(g, up, config.activation, path + ".act_fn");
  return linear(g, path + "." + config.down, up, Graph::width(x), projection);
}

}  // namespace tapml::models
