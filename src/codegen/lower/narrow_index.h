// Index arithmetic in 32 bits, for platforms that index with 32 or are faster so.
#pragma once

#include <string>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// The largest value of 32-bit index arithmetic.
inline constexpr int64_t kMost32 = (int64_t{1} << 31) - 1;

// Rewrites the index arithmetic of `launch` from i64 to i32: loop variables, extents, scalars,
// indices, conditions over them. Every value of it is shown to fit, for all values of the scalars
// or under the conditions that are added to launch.limits, which the launcher checks. An index of
// an access is taken to lie within its buffer. Data of 64 bits keeps them; values that are computed
// from indices keep them where nothing shows that they fit.
//
// Where some index never fits, the launch keeps 64 bits if the platform computes with them
// (`wide`); the result is false. Without them, or where it `must` be narrowed, it is refused:
// PlatformError (kLimit) at `where`, which names the expression, its largest value and the limit.
// So is data of 64 bits where the platform has none.
bool narrow_index(DeviceFunc& launch, bool wide, const std::string& where, bool must = false);

}  // namespace tapml::codegen
