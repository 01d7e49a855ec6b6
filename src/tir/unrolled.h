// Unrolled loops: each iteration becomes separate code, so their number is limited on every target.
#pragma once

#include <cstdint>

#include "tir/stmt.h"

namespace tapml::tir {

// Limits on the iterations of one unrolled loop, and of nested unrolled loops together.
inline constexpr int64_t kMostUnrolled = 256;
inline constexpr int64_t kMostUnrolledTogether = 4096;

// The largest number of copies of a statement inside `stmt`; kMostUnrolledTogether + 1 if it
// exceeds the limit.
int64_t unrolled_copies(const Stmt& stmt);

}  // namespace tapml::tir
