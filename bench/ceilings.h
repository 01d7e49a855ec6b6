// What this machine reaches at most, by loops written for it: the yardsticks of the benchmarks.
#pragma once

#include <cstdint>

namespace tapml::bench {

// f32 multiply-adds on registers, all threads, in GFLOP/s (two a multiply-add).
double fma_gflops(int threads);
// Reading `bytes` once, all threads, in GB/s; the bytes are those of a buffer that is kept, and
// each call goes on where the last one ended.
double read_gbps(int64_t bytes, int threads);
// a[i] = b[i] + s * c[i] with ordinary stores over `bytes` in all, each counted once, in GB/s.
double triad_gbps(int64_t bytes, int threads);

}  // namespace tapml::bench
