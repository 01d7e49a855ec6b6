#include "topdown/migrate/layer_moves.h"

#include <algorithm>

namespace tapml::topdown {

bool may_move(const KernelVerdict& verdict, const std::string& layer) {
  if (verdict.passed) return true;
  if (verdict.failed != Failure::kNone) return false;  // it may harm other kernels
  if (verdict.launches.flaky) return false;            // none of its calls is surely right
  return std::ranges::none_of(verdict.groups, [&](const CallGroup& group) {
    const bool in_layer = std::ranges::any_of(
        group.origin.layers, [&](const std::string& path) { return layer_of_path(path) == layer; });
    return (in_layer || group.origin.layers.empty()) && !(group.ratio <= 1);
  });
}

LayerStep LayerMoves::begin() const {
  LayerStep step;
  step.layer = next().name;
  for (const int32_t kernel : next().kernels) {
    step.kernels.push_back(suite_.kernels[static_cast<size_t>(kernel)].name);
  }
  return step;
}

LayerStep LayerMoves::move_next(const Steps& steps) {
  LayerStep layer = begin();
  std::vector<std::string> good;
  for (const std::string& kernel : layer.kernels) {
    const bool moves = may_move(steps.at(kernel)->verdict, layer.layer);
    (moves ? good : layer.left).push_back(kernel);
  }
  if (!good.empty() && !try_together(layer, good, steps)) {
    for (const std::string& kernel : good) {
      const bool alone = good.size() > 1 && !layer.repeated.flaky();
      if (alone && try_together(layer, {&kernel, 1}, steps)) continue;
      layer.left.push_back(kernel);
      steps.at(kernel)->migrated = false;
    }
  }
  ++next_;
  return layer;
}

bool LayerMoves::try_together(LayerStep& layer, std::span<const std::string> kernels,
                              const Steps& steps) {
  Calls together = moved_;
  for (const std::string& kernel : kernels) together.emplace(kernel, next_);
  const LayerRun run = run_(layer.layer, [&](const runtime::CallSite& site) {
    return together.contains({site.kernel->name, layers_.of(site.origin)});
  });
  layer.copies += run.copies;
  for (const std::string& kernel : kernels) {
    MigrationStep& step = *steps.at(kernel);
    // The reason why it stays matters more than later runs.
    if (!step.migrated && step.verdict.passed) continue;
    step.hybrid = run.check;
    step.dispatched = run.dispatched;
    step.repeated = run.repeated;
  }
  if (!run.check.passed) {
    layer.repeated = run.repeated;
    return false;
  }
  layer.hybrid = run.check;
  layer.dispatched = run.dispatched;
  moved_ = std::move(together);
  return true;
}

void LayerMoves::take(const LayerStep& step) {
  for (const std::string& kernel : step.kernels) {
    if (std::ranges::find(step.left, kernel) == step.left.end()) moved_.emplace(kernel, next_);
  }
  ++next_;
}

std::vector<LayerStep> LayerMoves::leave_rest() {
  std::vector<LayerStep> rest;
  for (; !done(); ++next_) {
    rest.push_back(begin());
    rest.back().tried = false;
  }
  return rest;
}

}  // namespace tapml::topdown
