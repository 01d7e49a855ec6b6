// Tensors above a platform's binding limit, in segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "abi/device_info.h"
#include "exec/executable.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// Rows of one segment of a tensor of `rows` rows of `row_bytes` each: as many as one binding takes,
// so that every segment begins at the platform's buffer alignment. `rows` itself where the tensor
// needs no segments, 0 where even that many rows do not fit.
int64_t segment_rows(int64_t rows, int64_t row_bytes, const Limits& limits);

struct SegmentedFunc {
  // Its parameters: the kernel's, of which the segmented ones are not touched any more, then one a
  // segment.
  tir::PrimFuncRef func;
  std::vector<Segment> segments;  // those of constant shapes first

  // A parameter whose number of rows the scalars decide.
  struct Rows {
    int32_t param = 0;
    PrimExpr count;
    int64_t each = 0;  // rows that one binding takes
    int64_t most = 0;  // rows that all segments take
  };
  std::vector<Rows> symbolic;
};

// The program with every parameter of constant shape that is above limits.max_binding_bytes split
// along its outermost dimension: an access picks the segment by its row. Tensors that cannot be
// split stay.
//
// `symbolic`: the parameters whose outermost dimension alone is symbolic are split too, into four
// segments or into as many as limits.max_bindings leaves to each; none where that is less than two.
// A segment that lies behind the end of its tensor is not touched. `most`: what the scalars can be
// at most, where that is known; a tensor that then always fits one binding is left whole.
SegmentedFunc segment_tensors(const tir::PrimFunc& func, const Limits& limits,
                              bool symbolic = false,
                              const std::vector<std::optional<int64_t>>& most = {});

}  // namespace tapml::codegen
