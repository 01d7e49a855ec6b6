#include "io/gguf_quantize_super.h"

#include <cstring>

#include "io/gguf_fit.h"
#include "io/gguf_pack.h"

namespace tapml {

namespace {

using namespace gguf_fit;
using namespace gguf_pack;

constexpr int64_t kWhole = 256;  // elements of a block

// A block whose groups of N elements have scales, and perhaps minimums, that are integers times a
// factor of the block.
template <size_t N>
struct Groups {
  static constexpr size_t kCount = static_cast<size_t>(kWhole) / N;
  std::array<int, kCount> scales{}, minimums{};
  std::array<int, static_cast<size_t>(kWhole)> levels{};
};

// Scales from 0 to `scales` and minimums from 0 to `scales` times -1; levels from 0 to `most`.
template <size_t N>
Groups<N> affine_groups(const float* x, float most, float scales, std::byte* scale_at,
                        std::byte* minimum_at) {
  Groups<N> groups;
  std::array<Affine, Groups<N>::kCount> fits;
  float largest = 0, lowest = 0;
  for (size_t g = 0; g < fits.size(); ++g) {
    const float* own = x + g * N;
    fits[g] = fit_affine<N>(own, weights_of<N>(own), most, true);
    largest = std::max(largest, fits[g].scale);
    lowest = std::min(lowest, fits[g].minimum);
  }
  const float factor = put_scale(scale_at, largest / scales);
  const float minimum_factor = put_scale(minimum_at, -lowest / scales);
  const float inverse = inverse_of(factor), minimum_inverse = inverse_of(minimum_factor);
  for (size_t g = 0; g < fits.size(); ++g) {
    groups.scales[g] = static_cast<int>(level_of(fits[g].scale * inverse, 0, scales));
    groups.minimums[g] = static_cast<int>(level_of(-fits[g].minimum * minimum_inverse, 0, scales));
    const float own = inverse_of(factor * static_cast<float>(groups.scales[g]));
    const float least = minimum_factor * static_cast<float>(groups.minimums[g]);
    for (size_t i = g * N; i < (g + 1) * N; ++i) {
      groups.levels[i] = static_cast<int>(level_of((x[i] + least) * own, 0, most));
    }
  }
  return groups;
}

// Scales from -scales to scales - 1; levels from -bound to bound - 1, stored plus `bound`.
template <size_t N>
Groups<N> symmetric_groups(const float* x, float bound, float scales, std::byte* scale_at) {
  Groups<N> groups;
  std::array<float, Groups<N>::kCount> fits;
  for (size_t g = 0; g < fits.size(); ++g) {
    const float* own = x + g * N;
    fits[g] = fit_scale<N>(own, weights_of<N>(own), bound);
  }
  const float factor = put_scale(scale_at, extreme_of<Groups<N>::kCount>(fits.data()) / -scales);
  const float inverse = inverse_of(factor);
  for (size_t g = 0; g < fits.size(); ++g) {
    groups.scales[g] = static_cast<int>(level_of(fits[g] * inverse, -scales, scales - 1));
    const float own = inverse_of(factor * static_cast<float>(groups.scales[g]));
    for (size_t i = g * N; i < (g + 1) * N; ++i) {
      groups.levels[i] = static_cast<int>(level_of(x[i] * own, -bound, bound - 1) + bound);
    }
  }
  return groups;
}

// Six bits each of the scales and minimums of eight groups, in 12 bytes.
void put_six_bits(const Groups<32>& groups, std::byte* packed) {
  std::memset(packed, 0, 12);
  for (int64_t g = 0; g < 8; ++g) {
    const int own = groups.scales[static_cast<size_t>(g)];
    const int least = groups.minimums[static_cast<size_t>(g)];
    if (g < 4) {
      add_bits(packed, g, own);
      add_bits(packed, g + 4, least);
    } else {
      add_bits(packed, g + 4, (own & 15) | ((least & 15) << 4));
      add_bits(packed, g - 4, (own >> 4) << 6);
      add_bits(packed, g, (least >> 4) << 6);
    }
  }
}

// The low four bits of each level: of a group of 32 and of the next one in the same bytes.
void put_low_halves(const Groups<32>& groups, std::byte* numbers) {
  std::memset(numbers, 0, kWhole / 2);
  for (int64_t i = 0; i < kWhole; ++i) {
    const int level = groups.levels[static_cast<size_t>(i)] & 15;
    add_bits(numbers, i / 64 * 32 + i % 32, level << (i / 32 % 2 * 4));
  }
}

}  // namespace

void pack_q2_k(const float* x, std::byte* block) {
  const Groups<16> groups = affine_groups<16>(x, 3, 15, block + 80, block + 82);
  for (size_t g = 0; g < groups.scales.size(); ++g) {
    block[g] = static_cast<std::byte>(groups.scales[g] | (groups.minimums[g] << 4));
  }
  std::byte* numbers = block + 16;
  std::memset(numbers, 0, kWhole / 4);
  for (int64_t i = 0; i < kWhole; ++i) {
    add_bits(numbers, i / 128 * 32 + i % 32,
             groups.levels[static_cast<size_t>(i)] << (i % 128 / 32 * 2));
  }
}

void pack_q3_k(const float* x, std::byte* block) {
  const Groups<16> groups = symmetric_groups<16>(x, 4, 32, block + 108);
  std::byte *high = block, *numbers = block + 32, *packed = block + 96;
  std::memset(block, 0, 108);
  for (int64_t g = 0; g < 16; ++g) {
    const int stored = groups.scales[static_cast<size_t>(g)] + 32;
    add_bits(packed, g % 8, (stored & 15) << (g / 8 * 4));
    add_bits(packed, 8 + g % 4, (stored >> 4) << (g / 4 * 2));
  }
  for (int64_t i = 0; i < kWhole; ++i) {
    const int level = groups.levels[static_cast<size_t>(i)];
    add_bits(numbers, i / 128 * 32 + i % 32, (level & 3) << (i % 128 / 32 * 2));
    add_bits(high, i % 32, (level >> 2) << (i / 32));
  }
}

void pack_q4_k(const float* x, std::byte* block) {
  const Groups<32> groups = affine_groups<32>(x, 15, 63, block, block + 2);
  put_six_bits(groups, block + 4);
  put_low_halves(groups, block + 16);
}

void pack_q5_k(const float* x, std::byte* block) {
  const Groups<32> groups = affine_groups<32>(x, 31, 63, block, block + 2);
  put_six_bits(groups, block + 4);
  put_low_halves(groups, block + 48);
  std::byte* high = block + 16;
  std::memset(high, 0, kWhole / 8);
  for (int64_t i = 0; i < kWhole; ++i) {
    add_bits(high, i % 32, (groups.levels[static_cast<size_t>(i)] >> 4) << (i / 32));
  }
}

void pack_q6_k(const float* x, std::byte* block) {
  const Groups<16> groups = symmetric_groups<16>(x, 32, 128, block + 208);
  std::byte *low = block, *high = block + 128, *packed = block + 192;
  std::memset(block, 0, 192);
  for (size_t g = 0; g < groups.scales.size(); ++g) {
    packed[g] = static_cast<std::byte>(static_cast<int8_t>(groups.scales[g]));
  }
  for (int64_t i = 0; i < kWhole; ++i) {
    const int64_t half = i / 128, part = i % 128 / 32;
    const int level = groups.levels[static_cast<size_t>(i)];
    add_bits(low, half * 64 + part % 2 * 32 + i % 32, (level & 15) << (part / 2 * 4));
    add_bits(high, half * 32 + i % 32, (level >> 4) << (part * 2));
  }
}

}  // namespace tapml
