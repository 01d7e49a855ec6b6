// Peak rates of this machine, measured by specialized loops: the yardsticks of the benchmarks.
#pragma once

#include <cstdint>

namespace tapml::bench {

// f32 multiply-adds in registers, all threads, in GFLOP/s (two a multiply-add).
double fma_gflops(int threads);
// Reads `bytes` once, all threads, in GB/s. The buffer is kept between calls, and each call
// continues where the last one ended.
double read_gbps(int64_t bytes, int threads);
// a[i] = b[i] + s * c[i] with ordinary stores over `bytes` in total, each counted once, in GB/s.
double triad_gbps(int64_t bytes, int threads);

}  // namespace tapml::bench
