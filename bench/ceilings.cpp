#include "ceilings.h"

#include <immintrin.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "harness.h"

namespace tapml::bench {

namespace {

volatile float g_sink;

bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

// Twelve chains hide the latency of four cycles on two ports. Without the pragma they would be in
// memory.
__attribute__((target("avx512f"))) float fma_loop_512(int64_t steps) {
  __m512 sum[12], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (auto& value : sum) value = _mm512_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c) sum[c] = _mm512_fmadd_ps(sum[c], factor, term);
  }
  float total = 0;
  for (auto& value : sum) total += _mm512_reduce_add_ps(value);
  return total;
}

__attribute__((target("avx2,fma"))) float fma_loop_256(int64_t steps) {
  __m256 sum[12], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (auto& value : sum) value = _mm256_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c) sum[c] = _mm256_fmadd_ps(sum[c], factor, term);
  }
  alignas(32) float lanes[8];
  float total = 0;
  for (auto& value : sum) {
    _mm256_store_ps(lanes, value);
    for (float lane : lanes) total += lane;
  }
  return total;
}

__attribute__((target("avx512f"))) float read_loop_512(const float* data, int64_t count) {
  __m512 sum[8];
  for (auto& value : sum) value = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 128 <= count; i += 128) {
#pragma GCC unroll 8
    for (int lane = 0; lane < 8; ++lane) {
      sum[lane] = _mm512_add_ps(sum[lane], _mm512_loadu_ps(data + i + 16 * lane));
    }
  }
  float total = 0;
  for (auto& value : sum) total += _mm512_reduce_add_ps(value);
  return total;
}

__attribute__((target("avx2"))) float read_loop_256(const float* data, int64_t count) {
  __m256 sum[8];
  for (auto& value : sum) value = _mm256_setzero_ps();
  for (int64_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 8
    for (int lane = 0; lane < 8; ++lane) {
      sum[lane] = _mm256_add_ps(sum[lane], _mm256_loadu_ps(data + i + 8 * lane));
    }
  }
  alignas(32) float lanes[8];
  float total = 0;
  for (auto& value : sum) {
    _mm256_store_ps(lanes, value);
    for (float lane : lanes) total += lane;
  }
  return total;
}

__attribute__((target("avx512f"))) void triad_512(float* a, const float* b, const float* c,
                                                  int64_t count) {
  __m512 scale = _mm512_set1_ps(0.5f);
  for (int64_t i = 0; i + 16 <= count; i += 16) {
    _mm512_storeu_ps(a + i, _mm512_fmadd_ps(scale, _mm512_loadu_ps(c + i), _mm512_loadu_ps(b + i)));
  }
}

__attribute__((target("avx2,fma"))) void triad_256(float* a, const float* b, const float* c,
                                                   int64_t count) {
  __m256 scale = _mm256_set1_ps(0.5f);
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(a + i, _mm256_fmadd_ps(scale, _mm256_loadu_ps(c + i), _mm256_loadu_ps(b + i)));
  }
}

// Seconds until `work(thread)` has finished on all threads.
double in_parallel(int threads, const std::function<void(int)>& work) {
  double start = seconds_now();
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& thread : others) thread.join();
  return seconds_now() - start;
}

}  // namespace

double fma_gflops(int threads) {
  const int64_t steps = 2'000'000;
  double seconds = in_parallel(
      threads, [&](int) { g_sink = has_avx512() ? fma_loop_512(steps) : fma_loop_256(steps); });
  double lanes = has_avx512() ? 16 : 8;
  return 2e-9 * 12 * lanes * static_cast<double>(steps) * threads / seconds;
}

double read_gbps(int64_t bytes, int threads) {
  // Far larger than the last-level cache, so that each read continues in memory.
  static std::vector<float> data(std::max<int64_t>(int64_t{1} << 28, bytes / 2), 1.0f);
  static int64_t position = 0;
  const int64_t count = bytes / 4 / threads;
  double seconds = in_parallel(threads, [&](int t) {
    int64_t left = count;
    auto size = static_cast<int64_t>(data.size());
    int64_t at = (position + t * count) % size;
    while (left > 0) {
      int64_t run = std::min(left, size - at);
      g_sink = has_avx512() ? read_loop_512(data.data() + at, run)
                            : read_loop_256(data.data() + at, run);
      left -= run;
      at = 0;
    }
  });
  position = (position + count * threads) % static_cast<int64_t>(data.size());
  return 1e-9 * static_cast<double>(4 * count * threads) / seconds;
}

double triad_gbps(int64_t bytes, int threads) {
  const int64_t count = bytes / 12;
  static std::vector<float> a, b, c;
  if (static_cast<int64_t>(a.size()) < count) {
    for (std::vector<float>* array : {&a, &b, &c}) array->assign(static_cast<size_t>(count), 1.0f);
  }
  double seconds = in_parallel(threads, [&](int t) {
    int64_t begin = count * t / threads / 16 * 16, end = count * (t + 1) / threads / 16 * 16;
    (has_avx512() ? triad_512 : triad_256)(a.data() + begin, b.data() + begin, c.data() + begin,
                                           end - begin);
  });
  return 1e-9 * static_cast<double>(12 * count) / seconds;
}

}  // namespace tapml::bench
