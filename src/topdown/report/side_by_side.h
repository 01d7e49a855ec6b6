// The outcome of every kernel on every target of a migration.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"
#include "topdown/results/migration.h"

namespace tapml::topdown {

// A kernel on one target.
struct TargetCell {
  KernelState state = KernelState::kUntested;
  std::string outcome;  // "migrated", "mismatch", "not tried", ...
  size_t index = 0;     // among the kernels of the target's page
};

struct KernelRow {
  std::string kernel;
  // From the first target that tried it; null: none did.
  const KernelVerdict* verdict = nullptr;
  std::vector<TargetCell> cells;  // one per target
};

// In the order of the first target's plan. Refers to `migrations`.
std::vector<KernelRow> kernel_rows(const Migrations& migrations);

// A layer of the model, in layer-by-layer migrations.
struct LayerRow {
  std::string layer;
  std::vector<const LayerStep*> cells;  // one per target; null: it ended before the first layer
};
// In the order of the run. Refers to `migrations`.
std::vector<LayerRow> layer_rows(const Migrations& migrations);

// The outcome of the whole model on a target: "same text", "same vectors", "a tie", "another
// text", "mismatch", "fails", "not run", or the failure of the platform.
std::string model_outcome(const Migration& migration);

// A table for a terminal of `width` columns: a row per kernel or layer, and one for the whole
// model; a column per target. `colors` marks the outcomes.
std::vector<std::string> side_by_side(const Migrations& migrations, size_t width, bool colors);

// One sentence about all targets.
std::string migrations_verdict(const Migrations& migrations);

}  // namespace tapml::topdown
