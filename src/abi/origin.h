// Where in the model a binding or a call site came from (contract 10).
#pragma once

#include <initializer_list>
#include <set>
#include <string>

namespace tapml {

struct Origin {
  std::set<std::string> layers;  // paths such as "model.layers.3.self_attn.q_proj"
  // Lines of the blocks that emitted it, such as "src/models/blocks/linear.cpp:20".
  std::set<std::string> lines;

  Origin() = default;
  Origin(std::initializer_list<std::string> layers) : layers(layers) {}
  bool operator==(const Origin&) const = default;
};

Origin merge_origins(const Origin& a, const Origin& b);
// Comma-separated; runs such as layers.0, layers.1, layers.2 are written "layers.{0..2}".
std::string layers_summary(const std::set<std::string>& layers);
inline std::string layers_summary(const Origin& origin) { return layers_summary(origin.layers); }
// Comma-separated; the lines of a file after its name: "src/models/blocks/linear.cpp:20,31".
std::string lines_summary(const Origin& origin);

}  // namespace tapml
