#include "io/gguf_blocks.h"

#include <array>
#include <bit>
#include <cstring>

namespace tapml {

namespace {

constexpr int64_t kSmall = 32;  // elements of the older types' blocks
constexpr int64_t kLeastGroup = 16;
constexpr int64_t kSuper = 256;  // elements of a K-quant's block, which has groups with own scales

uint8_t byte_at(const std::byte* bytes, int64_t at) { return static_cast<uint8_t>(bytes[at]); }

float f16_at(const std::byte* bytes) {
  return f16_to_f32(static_cast<uint16_t>(byte_at(bytes, 0) | (byte_at(bytes, 1) << 8)));
}

uint32_t u32_at(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | byte_at(bytes, i);
  return value;
}

// The four-bit numbers of half a block in the low halves of its bytes, of the other in the high.
int nibble(const std::byte* bytes, int64_t at, int64_t half) {
  return at < half ? byte_at(bytes, at) & 15 : byte_at(bytes, at - half) >> 4;
}

void from_f32(const std::byte* block, float* to) { *to = std::bit_cast<float>(u32_at(block)); }
void from_f16(const std::byte* block, float* to) { *to = f16_at(block); }
void from_bf16(const std::byte* block, float* to) {
  *to = std::bit_cast<float>(static_cast<uint32_t>(byte_at(block, 0) | (byte_at(block, 1) << 8))
                             << 16);
}

// What a block consists of, of the types with a scale and perhaps a minimum for each group.

void unpack_q4_0(const std::byte* block, int8_t* levels, float* scales, float*) {
  *scales = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = static_cast<int8_t>(nibble(block + 2, i, kSmall / 2) - 8);
  }
}

void unpack_q4_1(const std::byte* block, int8_t* levels, float* scales, float* minimums) {
  *scales = f16_at(block);
  *minimums = f16_at(block + 2);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = static_cast<int8_t>(nibble(block + 4, i, kSmall / 2));
  }
}

// A number of five bits, whose highest is in a word for the whole block.
int five_bits(const std::byte* high, const std::byte* low, int64_t at) {
  return nibble(low, at, kSmall / 2) | static_cast<int>(((u32_at(high) >> at) & 1) << 4);
}

void unpack_q5_0(const std::byte* block, int8_t* levels, float* scales, float*) {
  *scales = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = static_cast<int8_t>(five_bits(block + 2, block + 6, i) - 16);
  }
}

void unpack_q5_1(const std::byte* block, int8_t* levels, float* scales, float* minimums) {
  *scales = f16_at(block);
  *minimums = f16_at(block + 2);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = static_cast<int8_t>(five_bits(block + 4, block + 8, i));
  }
}

void unpack_q8_0(const std::byte* block, int8_t* levels, float* scales, float*) {
  *scales = f16_at(block);
  std::memcpy(levels, block + 2, kSmall);
}

// A byte has a scale and a minimum of four bits each.
void unpack_q2_k(const std::byte* block, int8_t* levels, float* scales, float* minimums) {
  const std::byte* numbers = block + 16;
  const float scale = f16_at(block + 80), least = f16_at(block + 82);
  for (int64_t group = 0; group < kSuper / 16; ++group) {
    scales[group] = scale * static_cast<float>(byte_at(block, group) & 15);
    minimums[group] = -(least * static_cast<float>(byte_at(block, group) >> 4));
  }
  for (int64_t i = 0; i < kSuper; ++i) {
    levels[i] =
        static_cast<int8_t>((byte_at(numbers, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3);
  }
}

// Scales of six bits: the lower four in eight bytes, the upper two in four.
void unpack_q3_k(const std::byte* block, int8_t* levels, float* scales, float*) {
  const std::byte *high = block, *numbers = block + 32, *packed = block + 96;
  const float scale = f16_at(block + 108);
  for (int64_t group = 0; group < kSuper / 16; ++group) {
    const int low = group < 8 ? byte_at(packed, group) & 15 : byte_at(packed, group - 8) >> 4;
    const int top = (byte_at(packed, 8 + group % 4) >> (group / 4 * 2)) & 3;
    scales[group] = scale * static_cast<float>((low | (top << 4)) - 32);
  }
  for (int64_t i = 0; i < kSuper; ++i) {
    const int low = (byte_at(numbers, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3;
    const bool is_set = ((byte_at(high, i % 32) >> (i / 32)) & 1) != 0;
    levels[i] = static_cast<int8_t>(low - (is_set ? 0 : 4));
  }
}

// Scale and minimum of six bits each, of a group of 32 in Q4_K and Q5_K.
void unpack_six_bits(const std::byte* block, float* scales, float* minimums) {
  const float scale = f16_at(block), least = f16_at(block + 2);
  const std::byte* packed = block + 4;
  for (int64_t group = 0; group < kSuper / 32; ++group) {
    int own = byte_at(packed, group) & 63, own_least = byte_at(packed, group + 4) & 63;
    if (group >= 4) {
      const int both = byte_at(packed, group + 4);
      own = (both & 15) | ((byte_at(packed, group - 4) >> 2) & 48);
      own_least = (both >> 4) | ((byte_at(packed, group) >> 2) & 48);
    }
    scales[group] = scale * static_cast<float>(own);
    minimums[group] = -(least * static_cast<float>(own_least));
  }
}

void unpack_q4_k(const std::byte* block, int8_t* levels, float* scales, float* minimums) {
  unpack_six_bits(block, scales, minimums);
  const std::byte* numbers = block + 16;
  for (int64_t i = 0; i < kSuper; ++i) {
    const int shift = static_cast<int>(i / 32 % 2 * 4);
    levels[i] = static_cast<int8_t>((byte_at(numbers, i / 64 * 32 + i % 32) >> shift) & 15);
  }
}

void unpack_q5_k(const std::byte* block, int8_t* levels, float* scales, float* minimums) {
  unpack_six_bits(block, scales, minimums);
  const std::byte *high = block + 16, *numbers = block + 48;
  for (int64_t i = 0; i < kSuper; ++i) {
    const int shift = static_cast<int>(i / 32 % 2 * 4);
    const int low = (byte_at(numbers, i / 64 * 32 + i % 32) >> shift) & 15;
    levels[i] = static_cast<int8_t>(low | (((byte_at(high, i % 32) >> (i / 32)) & 1) << 4));
  }
}

// Scales of a whole byte.
void unpack_q6_k(const std::byte* block, int8_t* levels, float* scales, float*) {
  const std::byte *low = block, *high = block + 128, *packed = block + 192;
  const float scale = f16_at(block + 208);
  for (int64_t group = 0; group < kSuper / 16; ++group) {
    scales[group] = scale * static_cast<float>(static_cast<int8_t>(byte_at(packed, group)));
  }
  for (int64_t i = 0; i < kSuper; ++i) {
    const int64_t half = i / 128, part = i % 128 / 32;
    const int four = (byte_at(low, half * 64 + part % 2 * 32 + i % 32) >> (part / 2 * 4)) & 15;
    const int two = (byte_at(high, half * 32 + i % 32) >> (part * 2)) & 3;
    levels[i] = static_cast<int8_t>((four | (two << 4)) - 32);
  }
}

constexpr std::array<int8_t, 16> kIq4NlLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

void unpack_iq4_nl(const std::byte* block, int8_t* levels, float* scales, float*) {
  *scales = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = kIq4NlLevels[static_cast<size_t>(nibble(block + 2, i, kSmall / 2))];
  }
}

// Levels are twice those of the OCP's E2M1, and the scale is half of its power of two.
void unpack_mxfp4(const std::byte* block, int8_t* levels, float* scales, float*) {
  constexpr std::array<int8_t, 16> kLevels = {0, 1,  2,  3,  4,  6,  8,  12,
                                              0, -1, -2, -3, -4, -6, -8, -12};
  const uint32_t exponent = byte_at(block, 0);
  const uint32_t bits = exponent < 2 ? uint32_t{0x00200000} << exponent : (exponent - 1) << 23;
  *scales = std::bit_cast<float>(bits);
  for (int64_t i = 0; i < kSmall; ++i) {
    levels[i] = kLevels[static_cast<size_t>(nibble(block + 1, i, kSmall / 2))];
  }
}

constexpr GgufLevels nibbles(int64_t group, DType scales, bool has_minimums,
                             decltype(GgufLevels::unpack) unpack) {
  return {4, group, scales, has_minimums, unpack};
}
constexpr GgufLevels bytes(int64_t group, DType scales, bool has_minimums,
                           decltype(GgufLevels::unpack) unpack) {
  return {8, group, scales, has_minimums, unpack};
}

}  // namespace

std::span<const GgufType> gguf_types() {
  static constexpr GgufType kTypes[] = {
      {0, "F32", 1, 4, DType::kF32, from_f32},
      {1, "F16", 1, 2, DType::kF16, from_f16},
      {2, "Q4_0", kSmall, 18, {}, {}, nibbles(32, DType::kF16, false, unpack_q4_0)},
      {3, "Q4_1", kSmall, 20, {}, {}, nibbles(32, DType::kF16, true, unpack_q4_1)},
      {6, "Q5_0", kSmall, 22, {}, {}, bytes(32, DType::kF16, false, unpack_q5_0)},
      {7, "Q5_1", kSmall, 24, {}, {}, bytes(32, DType::kF16, true, unpack_q5_1)},
      {8, "Q8_0", kSmall, 34, {}, {}, bytes(32, DType::kF16, false, unpack_q8_0)},
      {10, "Q2_K", kSuper, 84, {}, {}, nibbles(16, DType::kF32, true, unpack_q2_k)},
      {11, "Q3_K", kSuper, 110, {}, {}, nibbles(16, DType::kF32, false, unpack_q3_k)},
      {12, "Q4_K", kSuper, 144, {}, {}, nibbles(32, DType::kF32, true, unpack_q4_k)},
      {13, "Q5_K", kSuper, 176, {}, {}, bytes(32, DType::kF32, true, unpack_q5_k)},
      {14, "Q6_K", kSuper, 210, {}, {}, bytes(16, DType::kF32, false, unpack_q6_k)},
      {20, "IQ4_NL", kSmall, 18, {}, {}, bytes(32, DType::kF16, false, unpack_iq4_nl)},
      {30, "BF16", 1, 2, DType::kBF16, from_bf16},
      {39, "MXFP4", kSmall, 17, {}, {}, bytes(32, DType::kF32, false, unpack_mxfp4)},
  };
  return kTypes;
}

const GgufType* find_gguf_type(uint32_t id) {
  for (const GgufType& type : gguf_types()) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::string_view gguf_type_name(uint32_t id) {
  if (const GgufType* type = find_gguf_type(id)) return type->name;
  struct Known {
    uint32_t id;
    std::string_view name;
  };
  constexpr Known kOthers[] = {{9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
                               {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
                               {23, "IQ4_XS"},  {24, "I8"},    {25, "I16"},     {26, "I32"},
                               {27, "I64"},     {28, "F64"},   {29, "IQ1_M"},   {34, "TQ1_0"},
                               {35, "TQ2_0"},   {40, "NVFP4"}};
  for (const Known& known : kOthers) {
    if (known.id == id) return known.name;
  }
  return {};
}

std::span<const int8_t> iq4_nl_levels() { return kIq4NlLevels; }

void dequantize_gguf(const GgufType& type, const std::byte* bytes, std::span<float> elements) {
  if (type.plain == DType::kF32) {
    std::memcpy(elements.data(), bytes, elements.size_bytes());
    return;
  }
  if (type.plain) {
    for (float& element : elements) {
      type.widen(bytes, &element);
      bytes += type.block_bytes;
    }
    return;
  }
  const GgufLevels& form = type.levels;
  std::array<int8_t, kSuper> levels;
  std::array<float, kSuper / kLeastGroup> scales, minimums;
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(type.elements)) {
    form.unpack(bytes, levels.data(), scales.data(), minimums.data());
    for (int64_t j = 0; j < type.elements; ++j) {
      const auto group = static_cast<size_t>(j / form.group);
      const float product = static_cast<float>(levels[static_cast<size_t>(j)]) * scales[group];
      elements[i + static_cast<size_t>(j)] =
          form.has_minimums ? product + minimums[group] : product;
    }
    bytes += type.block_bytes;
  }
}

}  // namespace tapml
