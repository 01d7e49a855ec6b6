#include "io/gguf_quantize.h"

#include <bit>
#include <cstring>

#include "io/gguf_fit.h"
#include "io/gguf_pack.h"
#include "io/gguf_quantize_super.h"

namespace tapml {

namespace {

using namespace gguf_fit;
using namespace gguf_pack;

constexpr size_t kOldBlock = 32;  // elements of the types that are not K-quants
constexpr int64_t kHalf = kOldBlock / 2;

// Four bits of each element: those of the first half in the low halves of the bytes.
void put_nibbles(const int* levels, std::byte* to) {
  for (int64_t i = 0; i < kHalf; ++i) {
    to[i] = static_cast<std::byte>((levels[i] & 15) | ((levels[i + kHalf] & 15) << 4));
  }
}

// The fifth bit of each element, in a word.
void put_fifth_bits(const int* levels, std::byte* to) {
  std::memset(to, 0, 4);
  for (int64_t i = 0; i < static_cast<int64_t>(kOldBlock); ++i) {
    add_bits(to, i / 8, ((levels[i] >> 4) & 1) << (i % 8));
  }
}

// Levels above `bound` of elements with a scale alone.
void symmetric_levels(const float* x, float bound, std::byte* scale_at, int* levels) {
  const float scale = put_scale(scale_at, fit_scale<kOldBlock>(x, weights_of<kOldBlock>(x), bound));
  const float inverse = inverse_of(scale);
  for (size_t i = 0; i < kOldBlock; ++i) {
    levels[i] = static_cast<int>(level_of(x[i] * inverse, -bound, bound - 1) + bound);
  }
}

void affine_levels(const float* x, float most, std::byte* scale_at, int* levels) {
  const Affine fit = fit_affine<kOldBlock>(x, weights_of<kOldBlock>(x), most, false);
  const float inverse = inverse_of(put_scale(scale_at, fit.scale));
  const float minimum = put_scale(scale_at + 2, fit.minimum);
  for (size_t i = 0; i < kOldBlock; ++i) {
    levels[i] = static_cast<int>(level_of((x[i] - minimum) * inverse, 0, most));
  }
}

void pack_q4_0(const float* x, std::byte* block) {
  std::array<int, kOldBlock> levels;
  symmetric_levels(x, 8, block, levels.data());
  put_nibbles(levels.data(), block + 2);
}

void pack_q4_1(const float* x, std::byte* block) {
  std::array<int, kOldBlock> levels;
  affine_levels(x, 15, block, levels.data());
  put_nibbles(levels.data(), block + 4);
}

void pack_q5_0(const float* x, std::byte* block) {
  std::array<int, kOldBlock> levels;
  symmetric_levels(x, 16, block, levels.data());
  put_fifth_bits(levels.data(), block + 2);
  put_nibbles(levels.data(), block + 6);
}

void pack_q5_1(const float* x, std::byte* block) {
  std::array<int, kOldBlock> levels;
  affine_levels(x, 31, block, levels.data());
  put_fifth_bits(levels.data(), block + 4);
  put_nibbles(levels.data(), block + 8);
}

// The levels are fine enough that the largest element decides.
void pack_q8_0(const float* x, std::byte* block) {
  constexpr float kMost = 127;
  const float inverse = inverse_of(put_scale(block, std::fabs(extreme_of<kOldBlock>(x)) / kMost));
  for (size_t i = 0; i < kOldBlock; ++i) {
    block[2 + i] =
        static_cast<std::byte>(static_cast<int8_t>(level_of(x[i] * inverse, -kMost, kMost)));
  }
}

// The index of the value of an ascending table that is nearest to x.
int nearest_index(std::span<const int8_t> table, float x) {
  size_t above = 1;
  while (above + 1 < table.size() && static_cast<float>(table[above]) < x) ++above;
  const float low = table[above - 1], high = table[above];
  return static_cast<int>(x - low < high - x ? above - 1 : above);
}

void pack_iq4_nl(const float* x, std::byte* block) {
  constexpr int kTried = 7;
  const std::span<const int8_t> table = iq4_nl_levels();
  const Group<kOldBlock> weights = weights_of<kOldBlock>(x);
  const float extreme = extreme_of<kOldBlock>(x);
  float best = 0, best_gain = 0;
  for (int step = -kTried; extreme != 0 && step <= kTried; ++step) {
    const float inverse =
        (static_cast<float>(table.front()) + 3 * static_cast<float>(step)) / extreme;
    float product = 0, square = 0;
    for (size_t i = 0; i < kOldBlock; ++i) {
      const float level = table[static_cast<size_t>(nearest_index(table, x[i] * inverse))];
      product += weights[i] * x[i] * level;
      square += weights[i] * level * level;
    }
    const float gain = product * product / square;
    if (gain > best_gain) {
      best_gain = gain;
      best = product / square;
    }
  }
  const float inverse = inverse_of(put_scale(block, best));
  std::array<int, kOldBlock> levels;
  for (size_t i = 0; i < kOldBlock; ++i) levels[i] = nearest_index(table, x[i] * inverse);
  put_nibbles(levels.data(), block + 2);
}

// The scale is a power of two: the best of three.
void pack_mxfp4(const float* x, std::byte* block) {
  constexpr std::array<int8_t, 8> kMagnitudes = {0, 1, 2, 3, 4, 6, 8, 12};
  constexpr int kBias = 128;  // levels are twice the numbers of E2M1
  const float extreme = std::fabs(extreme_of<kOldBlock>(x));
  std::array<int, kOldBlock> levels{}, best_levels{};
  int best = 0;
  float best_error = INFINITY;
  const int first = extreme > 0 ? std::ilogb(extreme) - 3 : -kBias;
  for (int exponent = first; extreme > 0 && exponent <= first + 2; ++exponent) {
    if (exponent < -kBias || exponent > 254 - kBias) continue;
    const float scale = std::ldexp(1.0f, exponent);
    float error = 0;
    for (size_t i = 0; i < kOldBlock; ++i) {
      const int index = nearest_index(kMagnitudes, std::fabs(x[i]) / scale);
      const float value = static_cast<float>(kMagnitudes[static_cast<size_t>(index)]) * scale;
      error += (std::fabs(x[i]) - value) * (std::fabs(x[i]) - value);
      levels[i] = index | (std::signbit(x[i]) && index > 0 ? 8 : 0);
    }
    if (error < best_error) {
      best_error = error;
      best = exponent + kBias;
      best_levels = levels;
    }
  }
  block[0] = static_cast<std::byte>(best);
  put_nibbles(best_levels.data(), block + 1);
}

using Packer = void (*)(const float* x, std::byte* block);

Packer packer_of(std::string_view type) {
  struct Row {
    std::string_view type;
    Packer pack;
  };
  static constexpr Row kRows[] = {
      {"Q4_0", pack_q4_0}, {"Q4_1", pack_q4_1}, {"Q5_0", pack_q5_0},     {"Q5_1", pack_q5_1},
      {"Q8_0", pack_q8_0}, {"Q2_K", pack_q2_k}, {"Q3_K", pack_q3_k},     {"Q4_K", pack_q4_k},
      {"Q5_K", pack_q5_k}, {"Q6_K", pack_q6_k}, {"IQ4_NL", pack_iq4_nl}, {"MXFP4", pack_mxfp4},
  };
  return std::ranges::find(kRows, type, &Row::type)->pack;
}

}  // namespace

void quantize_gguf(const GgufType& type, std::span<const float> elements, std::byte* bytes) {
  if (type.plain == DType::kF32) {
    std::memcpy(bytes, elements.data(), elements.size_bytes());
    return;
  }
  if (type.plain) {
    for (const float element : elements) {
      put_u16(bytes, type.plain == DType::kF16 ? f32_to_f16(element) : f32_to_bf16(element));
      bytes += type.block_bytes;
    }
    return;
  }
  const Packer pack = packer_of(type.name);
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(type.elements)) {
    pack(elements.data() + i, bytes);
    bytes += type.block_bytes;
  }
}

}  // namespace tapml
