// The order in which a GGUF file has the rows of a weight.
#pragma once

#include <cstdint>

#include "frontend/gguf/architectures.h"

namespace tapml::frontend {

// Where each published row is stored.
struct RowOrder {
  GgufChange change = GgufChange::kNone;
  int64_t heads = 1, width = 0;  // rows of a head; width 0: no change

  int64_t stored(int64_t row) const {
    if (width == 0) return row;
    const int64_t in_head = row % width;
    if (change == GgufChange::kByPart) {  // `row` is of head, part, element
      const int64_t head = row / width / 3, part = row / width % 3;
      return (part * heads + head) * width + in_head;
    }
    const int64_t head = row / width, half = width / 2;
    return head * width + in_head % half * 2 + in_head / half;
  }
};

}  // namespace tapml::frontend
