// Moves a model's layers to a target one after the other: a kernel moves layer by layer, so that a
// kernel shared by all layers is on the target in some of them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "topdown/migrate/model_layers.h"
#include "topdown/results/migration.h"
#include "topdown/runner/hybrid.h"

namespace tapml::topdown {

// A run of the model with the chosen calls on the target.
struct LayerRun {
  ModelCheck check;
  RepeatedCheck repeated;  // if it failed
  int64_t dispatched = 0;
  runtime::CopyCount copies;
};
using RunLayers = std::function<LayerRun(const std::string& layer, const CallChoice& choice)>;

// Whether a kernel's tests allow its calls of `layer` to move: it passes, or all of its mismatches
// are in calls of other layers.
bool may_move(const KernelVerdict& verdict, const std::string& layer);

class LayerMoves {
 public:
  // By kernel.
  using Steps = std::map<std::string, MigrationStep*>;

  // `suite` outlives it.
  LayerMoves(const Suite& suite, RunLayers run)
      : suite_(suite), layers_(suite), run_(std::move(run)) {}
  LayerMoves(const LayerMoves&) = delete;

  const std::vector<ModelLayer>& layers() const { return layers_.all(); }
  bool done() const { return next_ == layers().size(); }
  // The first layer that has not been tried.
  const ModelLayer& next() const { return layers()[next_]; }
  // Moves what can move of next(): all its kernels at once, or, if the model is wrong with that,
  // one after the other, so that only those stay that make it wrong. Updates the steps of its
  // kernels, whose tests are done.
  LayerStep move_next(const Steps& steps);
  // Takes over next() from an earlier run.
  void take(const LayerStep& step);
  // The remaining layers, as not tried.
  std::vector<LayerStep> leave_rest();

 private:
  using Calls = std::set<std::pair<std::string, size_t>>;  // a kernel in a layer
  LayerStep begin() const;
  bool try_together(LayerStep& layer, std::span<const std::string> kernels, const Steps& steps);

  const Suite& suite_;
  ModelLayers layers_;
  RunLayers run_;
  size_t next_ = 0;
  Calls moved_;
};

}  // namespace tapml::topdown
