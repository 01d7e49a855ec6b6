// Windows that slide over the spatial dimensions of a [batch, channels, spatial...] tensor: what
// convolutions and pooling share.
#pragma once

#include "op/lowering.h"

namespace tapml::op {

// Attributes of a window over `rank` dimensions, one entry per dimension.
struct SlidingWindow {
  std::vector<int64_t> strides, dilation;
  std::vector<int64_t> before, after;  // padding

  // Reads strides, padding and, if the operator has it, dilation; checks count and sign.
  SlidingWindow(const CallView& call, size_t rank);
};

// The list attribute `name` with `rank` entries: an empty one means `fallback` everywhere.
// UserError for another count or an entry below `least`.
std::vector<int64_t> window_attribute(const CallView& call, const char* name, size_t rank,
                                      int64_t fallback, int64_t least);

// Extent of a dilated kernel of `kernel` elements: dilation * (kernel - 1) + 1.
PrimExpr reach(const PrimExpr& kernel, int64_t dilation);

// Number of window positions along dimension `d` of extent `in`; UserError if the kernel is
// provably larger than the padded input.
PrimExpr window_positions(const CallView& call, const SlidingWindow& window, size_t d,
                          const PrimExpr& in, const PrimExpr& kernel);

// `value` if every condition holds, else `otherwise`; constant true conditions are dropped.
PrimExpr guarded(const std::vector<PrimExpr>& conditions, const PrimExpr& value,
                 const PrimExpr& otherwise);

// Attribute specifications that operator families share.
AttributeSpec strides_attribute(const char* doc);
AttributeSpec padding_attribute();
AttributeSpec dilation_attribute();

// Random [batch, channels, spatial...] argument of moderate size, its spatial extents at least 1.
void keep_spatial(Shape& shape, int64_t limit);
// One entry per dimension, each in [low, high].
std::vector<int64_t> random_entries(size_t rank, int64_t low, int64_t high, RandomStream& rng);

}  // namespace tapml::op
