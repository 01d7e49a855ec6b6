// 32-bit index arithmetic, for platforms that require it or are faster with it.
#pragma once

#include <string>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// The largest value of 32-bit index arithmetic.
inline constexpr int64_t kMost32 = (int64_t{1} << 31) - 1;

// Rewrites the index arithmetic of `launch` from i64 to i32: loop variables, extents, scalars,
// indices and conditions on them. Every value provably fits, for all values of the scalars or under
// conditions added to launch.limits, which the launcher checks. Indices are assumed to be within
// their buffers. 64-bit data is unchanged, and so are values computed from indices that do not
// provably fit.
//
// If some index never fits, the launch stays at 64 bits and the result is false, provided that the
// platform supports them (`wide`). Otherwise, or if the launch `must` be narrowed, throws a
// PlatformError (kLimit) at `where` that names the expression, its maximum and the limit. The same
// applies to 64-bit data on a platform without it.
bool narrow_index(DeviceFunc& launch, bool wide, const std::string& where, bool must = false);

}  // namespace tapml::codegen
