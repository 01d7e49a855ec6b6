// What a kernel's implementation for a target requires of its callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr.h"

namespace tapml::tir {

// Known once a kernel is lowered; memory planning uses it. It is part of the tensor program that
// implements the kernel:
//   prim def k_impl(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64)
//       requires {workspace: n*256, in_place: [0, 1]} {spec: "k"} { ... }
struct Requirements {
  // Bytes of one storage for all workspaces, over the program's scalars; null if there are none.
  PrimExpr workspace;

  // An output that may reuse the storage of an input, as parameter indices.
  struct InPlace {
    int32_t input = 0, output = 0;
    bool operator==(const InPlace&) const = default;
  };
  std::vector<InPlace> in_place;

  // Data computed from weights once, when they are loaded.
  struct Prepared {
    std::vector<int32_t> sources;  // indices of the parameters that it is computed from
    int64_t bytes = 0;
    std::string digest;  // equal digests: equal bytes from equal sources
    bool operator==(const Prepared&) const = default;
  };
  std::optional<Prepared> prepared;

  bool allows_in_place(size_t input, size_t output) const {
    for (const InPlace& pair : in_place) {
      if (static_cast<size_t>(pair.input) == input && static_cast<size_t>(pair.output) == output) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace tapml::tir
