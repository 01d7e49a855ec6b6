// The model as a grid: its layers, and in each the kernels that compute it, coloured by state.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// Where in the model a path of an origin is: "model.layers.3.self_attn" is layer 3 of
// "model.layers", "model.norm" is "norm" and no numbered layer.
struct LayerPosition {
  std::string section;
  int64_t number = -1;  // -1: the section is no stack of layers
  bool operator==(const LayerPosition&) const = default;
  std::string name() const;  // "layers 3", "norm"
};
LayerPosition layer_position(const std::string& path);
// Of all paths, in the order in which the paths are sorted; each once. {"elsewhere"} for none.
std::vector<LayerPosition> layer_positions(const Origin& origin);

// A row a layer, a column a function of the model ("prefill", ...), a chip a kernel. Layers in a
// row that look alike share one where there are many.
std::string model_map(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
