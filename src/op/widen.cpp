#include "op/widen.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tapml::op {

namespace {

template <class T, class Widen>
void widen_each(const void* from, size_t first, size_t count, double* to, Widen&& one) {
  const T* elements = static_cast<const T*>(from);
  for (size_t i = first; i < count; ++i) to[i] = one(elements[i]);
}

// These widen the first elements, four or eight at a time, and return how many.
#if defined(__x86_64__)
constexpr size_t kTogether = 8;

[[gnu::always_inline, gnu::target("avx2")]] inline void store_wide(__m256 values, double* to) {
  _mm256_storeu_pd(to, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
  _mm256_storeu_pd(to + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
}

[[gnu::target("avx2")]] size_t widen_f32(const void* from, size_t count, double* to) {
  const auto* elements = static_cast<const float*>(from);
  size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) store_wide(_mm256_loadu_ps(elements + i), to + i);
  return i;
}

[[gnu::target("avx2")]] size_t widen_bf16(const void* from, size_t count, double* to) {
  const auto* elements = static_cast<const uint16_t*>(from);
  size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(elements + i));
    const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    store_wide(_mm256_castsi256_ps(words), to + i);
  }
  return i;
}

[[gnu::target("avx2,f16c")]] size_t widen_f16(const void* from, size_t count, double* to) {
  const auto* elements = static_cast<const uint16_t*>(from);
  size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(elements + i));
    store_wide(_mm256_cvtph_ps(bits), to + i);
  }
  return i;
}

bool is_fast() {
  static const bool kFast =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0;
  return kFast;
}
#else
size_t widen_f32(const void*, size_t, double*) { return 0; }
size_t widen_bf16(const void*, size_t, double*) { return 0; }
size_t widen_f16(const void*, size_t, double*) { return 0; }
bool is_fast() { return false; }
#endif

}  // namespace

bool can_widen(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kU8:
    case DType::kI8:
      return true;
    default:
      return false;
  }
}

void widen(DType dtype, const void* from, size_t count, double* to) {
  const auto same = [](auto element) { return static_cast<double>(element); };
  switch (dtype) {
    case DType::kF32:
      return widen_each<float>(from, is_fast() ? widen_f32(from, count, to) : 0, count, to, same);
    case DType::kF16:
      return widen_each<uint16_t>(from, is_fast() ? widen_f16(from, count, to) : 0, count, to,
                                  f16_to_f32);
    case DType::kBF16:
      return widen_each<uint16_t>(from, is_fast() ? widen_bf16(from, count, to) : 0, count, to,
                                  bf16_to_f32);
    case DType::kU8:
      return widen_each<uint8_t>(from, 0, count, to, same);
    case DType::kI8:
      return widen_each<int8_t>(from, 0, count, to, same);
    default:
      return;
  }
}

}  // namespace tapml::op
