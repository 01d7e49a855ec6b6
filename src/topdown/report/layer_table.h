// The layers of a layer-by-layer migration, and the growth of the model's error with each.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"
#include "topdown/results/migration.h"

namespace tapml::topdown {

KernelState state_of(const LayerStep& layer);
// "moved", "2 of 9 kernels stay", "stays" or "not tried".
std::string layer_outcome(const LayerStep& layer);

// For a terminal of `width` columns: a header and one row per layer. `colors` marks the outcomes.
std::vector<std::string> layer_lines(const std::vector<LayerStep>& layers, size_t width,
                                     bool colors);

// For a page; empty if there are no layers.
std::string layer_table(const std::vector<LayerStep>& layers);

}  // namespace tapml::topdown
