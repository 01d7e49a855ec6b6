// Splits tensors that exceed a platform's binding limit into segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "abi/device_info.h"
#include "exec/executable.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// Number of rows in a segment of a tensor of `rows` rows of `row_bytes` each: as many as one
// binding can hold such that every segment starts at the platform's buffer alignment. Returns
// `rows` if the tensor needs no segments, and 0 if not even that many rows fit.
int64_t segment_rows(int64_t rows, int64_t row_bytes, const Limits& limits);

struct SegmentedFunc {
  // Parameters: those of the kernel, of which segmented ones are no longer used, then one for each
  // segment.
  tir::PrimFuncRef func;
  std::vector<Segment> segments;  // those of constant shapes first

  // A parameter whose number of rows depends on the scalars.
  struct Rows {
    int32_t param = 0;
    PrimExpr count;
    int64_t each = 0;  // in one binding
    int64_t most = 0;  // in all segments
  };
  std::vector<Rows> symbolic;
};

// Splits every parameter of constant shape above limits.max_binding_bytes along its outermost
// dimension; an access selects the segment by its row. Tensors that cannot be split stay whole.
//
// `symbolic`: also splits parameters whose only symbolic dimension is the outermost, into four
// segments or as many as limits.max_bindings allows for each, if at least two. Segments past the
// end of a tensor are not accessed. `most`: upper bounds of the scalars, if known; a tensor that
// then always fits one binding stays whole.
SegmentedFunc segment_tensors(const tir::PrimFunc& func, const Limits& limits,
                              bool symbolic = false,
                              const std::vector<std::optional<int64_t>>& most = {});

}  // namespace tapml::codegen
