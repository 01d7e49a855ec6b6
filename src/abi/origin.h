// The model layers (and source lines) that a binding or call site came from (contract 10).
#pragma once

#include <set>
#include <string>

namespace tapml {

// Sorted layer paths such as "model.layers.3.self_attn.q_proj".
using Origin = std::set<std::string>;

Origin merge_origins(const Origin& a, const Origin& b);
// Comma-separated; runs such as layers.0, layers.1, layers.2 are written "layers.{0..2}".
std::string origin_summary(const Origin& origin);

}  // namespace tapml
