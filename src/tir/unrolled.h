// Unrolled loops: each iteration is code of its own, so that their number is limited on every
// target.
#pragma once

#include <cstdint>

#include "tir/stmt.h"

namespace tapml::tir {

// Iterations of an unrolled loop, and of unrolled loops inside each other.
inline constexpr int64_t kMostUnrolled = 256;
inline constexpr int64_t kMostUnrolledTogether = 4096;

// How often the code of a statement inside of `stmt` is written at most; kMostUnrolledTogether + 1
// for more than that.
int64_t unrolled_copies(const Stmt& stmt);

}  // namespace tapml::tir
