#include "topdown/migrate/model_layers.h"

#include <algorithm>

namespace tapml::topdown {

namespace {

constexpr const char* kElsewhere = "elsewhere";

}  // namespace

std::string layer_of_path(const std::string& path) {
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    const bool number = part.find_first_not_of("0123456789") == std::string_view::npos;
    if (number && !part.empty() && begin > 0) return path.substr(0, end);
    begin = end + 1;
  }
  return path;
}

ModelLayers::ModelLayers(const Suite& suite) {
  auto add = [&](const std::string& name, int32_t kernel) {
    const size_t index = find(name);
    if (index == layers_.size()) layers_.push_back({.name = name});
    std::vector<int32_t>& kernels = layers_[index].kernels;
    if (std::ranges::find(kernels, kernel) == kernels.end()) kernels.push_back(kernel);
  };
  for (const SuiteCall& call : suite.calls) {
    // Calls tested together count in each of their layers.
    for (const std::string& path : call.origin.layers) add(layer_of_path(path), call.kernel);
    if (call.origin.layers.empty()) add(kElsewhere, call.kernel);
  }
}

size_t ModelLayers::of(const Origin& origin) const {
  if (origin.layers.empty()) return find(kElsewhere);
  size_t last = 0;
  for (const std::string& path : origin.layers) last = std::max(last, find(layer_of_path(path)));
  return last;
}

size_t ModelLayers::find(const std::string& name) const {
  const auto layer = std::ranges::find(layers_, name, &ModelLayer::name);
  return static_cast<size_t>(layer - layers_.begin());
}

}  // namespace tapml::topdown
