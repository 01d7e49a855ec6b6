// The model as a grid: its layers, and in each the kernels that compute it, colored by state.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// The position of an origin's path in the model: "model.layers.3.self_attn" is layer 3 of
// "model.layers"; "model.norm" is "norm" without a number.
struct LayerPosition {
  std::string section;
  int64_t number = -1;  // -1: the section is not a stack of layers
  bool operator==(const LayerPosition&) const = default;
  std::string name() const;  // "layers 3", "norm"
};
LayerPosition layer_position(const std::string& path);
// The positions of all paths, each once, in the order of the sorted paths. {"elsewhere"} for none.
std::vector<LayerPosition> layer_positions(const Origin& origin);

// A row per layer, a column per function of the model ("prefill", ...), a chip per kernel. Among
// many rows, consecutive equal layers share one.
std::string model_map(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
