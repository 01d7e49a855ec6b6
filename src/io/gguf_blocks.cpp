#include "io/gguf_blocks.h"

#include <array>
#include <bit>
#include <cstring>

namespace tapml {

namespace {

constexpr int64_t kSmall = 32;   // elements of the older types' blocks
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

void from_q4_0(const std::byte* block, float* to) {
  const float scale = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    to[i] = scale * static_cast<float>(nibble(block + 2, i, kSmall / 2) - 8);
  }
}

void from_q4_1(const std::byte* block, float* to) {
  const float scale = f16_at(block), least = f16_at(block + 2);
  for (int64_t i = 0; i < kSmall; ++i) {
    to[i] = scale * static_cast<float>(nibble(block + 4, i, kSmall / 2)) + least;
  }
}

// A number of five bits, whose highest is in a word for the whole block.
int five_bits(const std::byte* high, const std::byte* low, int64_t at) {
  return nibble(low, at, kSmall / 2) | static_cast<int>(((u32_at(high) >> at) & 1) << 4);
}

void from_q5_0(const std::byte* block, float* to) {
  const float scale = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    to[i] = scale * static_cast<float>(five_bits(block + 2, block + 6, i) - 16);
  }
}

void from_q5_1(const std::byte* block, float* to) {
  const float scale = f16_at(block), least = f16_at(block + 2);
  for (int64_t i = 0; i < kSmall; ++i) {
    to[i] = scale * static_cast<float>(five_bits(block + 4, block + 8, i)) + least;
  }
}

void from_q8_0(const std::byte* block, float* to) {
  const float scale = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    to[i] = static_cast<float>(static_cast<int8_t>(byte_at(block + 2, i))) * scale;
  }
}

// Groups of 16: a byte has a scale and a minimum of four bits each.
void from_q2_k(const std::byte* block, float* to) {
  const std::byte *scales = block, *numbers = block + 16;
  const float scale = f16_at(block + 80), least = f16_at(block + 82);
  for (int64_t i = 0; i < kSuper; ++i) {
    const int64_t group = i / 16;
    const int number = (byte_at(numbers, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3;
    const float own = scale * static_cast<float>(byte_at(scales, group) & 15);
    const float own_least = least * static_cast<float>(byte_at(scales, group) >> 4);
    to[i] = own * static_cast<float>(number) - own_least;
  }
}

// Groups of 16 with scales of six bits: the lower four in eight bytes, the upper two in four.
void from_q3_k(const std::byte* block, float* to) {
  const std::byte *high = block, *numbers = block + 32, *scales = block + 96;
  const float scale = f16_at(block + 108);
  for (int64_t i = 0; i < kSuper; ++i) {
    const int64_t group = i / 16;
    const int low_bits = group < 8 ? byte_at(scales, group) & 15 : byte_at(scales, group - 8) >> 4;
    const int high_bits = (byte_at(scales, 8 + group % 4) >> (group / 4 * 2)) & 3;
    const float own = scale * static_cast<float>((low_bits | (high_bits << 4)) - 32);
    const int low = (byte_at(numbers, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3;
    const bool is_set = ((byte_at(high, i % 32) >> (i / 32)) & 1) != 0;
    to[i] = own * static_cast<float>(low - (is_set ? 0 : 4));
  }
}

// Scale and minimum of six bits each, of a group of 32 in Q4_K and Q5_K.
struct SixBits {
  int scale = 0, least = 0;
};

SixBits six_bits(const std::byte* scales, int64_t group) {
  if (group < 4) return {byte_at(scales, group) & 63, byte_at(scales, group + 4) & 63};
  const int both = byte_at(scales, group + 4);
  return {(both & 15) | ((byte_at(scales, group - 4) >> 2) & 48),
          (both >> 4) | ((byte_at(scales, group) >> 2) & 48)};
}

void from_q4_k(const std::byte* block, float* to) {
  const float scale = f16_at(block), least = f16_at(block + 2);
  const std::byte *scales = block + 4, *numbers = block + 16;
  for (int64_t group = 0; group < 8; ++group) {
    const SixBits bits = six_bits(scales, group);
    const float own = scale * static_cast<float>(bits.scale);
    const float own_least = least * static_cast<float>(bits.least);
    for (int64_t i = 0; i < 32; ++i) {
      const int number = (byte_at(numbers, group / 2 * 32 + i) >> (group % 2 * 4)) & 15;
      *to++ = own * static_cast<float>(number) - own_least;
    }
  }
}

void from_q5_k(const std::byte* block, float* to) {
  const float scale = f16_at(block), least = f16_at(block + 2);
  const std::byte *scales = block + 4, *high = block + 16, *numbers = block + 48;
  for (int64_t group = 0; group < 8; ++group) {
    const SixBits bits = six_bits(scales, group);
    const float own = scale * static_cast<float>(bits.scale);
    const float own_least = least * static_cast<float>(bits.least);
    for (int64_t i = 0; i < 32; ++i) {
      const int low = (byte_at(numbers, group / 2 * 32 + i) >> (group % 2 * 4)) & 15;
      const int number = low | (((byte_at(high, i) >> group) & 1) << 4);
      *to++ = own * static_cast<float>(number) - own_least;
    }
  }
}

// Groups of 16 with scales of a whole byte.
void from_q6_k(const std::byte* block, float* to) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float scale = f16_at(block + 208);
  for (int64_t i = 0; i < kSuper; ++i) {
    const int64_t half = i / 128, part = i % 128 / 32;
    const int four = (byte_at(low, half * 64 + part % 2 * 32 + i % 32) >> (part / 2 * 4)) & 15;
    const int two = (byte_at(high, half * 32 + i % 32) >> (part * 2)) & 3;
    const float own = scale * static_cast<float>(static_cast<int8_t>(byte_at(scales, i / 16)));
    to[i] = own * static_cast<float>((four | (two << 4)) - 32);
  }
}

void from_iq4_nl(const std::byte* block, float* to) {
  constexpr std::array<int8_t, 16> kLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};
  const float scale = f16_at(block);
  for (int64_t i = 0; i < kSmall; ++i) {
    const auto level = kLevels[static_cast<size_t>(nibble(block + 2, i, kSmall / 2))];
    to[i] = scale * static_cast<float>(level);
  }
}

// Levels are twice those of the OCP's E2M1, and the scale is half of its power of two.
void from_mxfp4(const std::byte* block, float* to) {
  constexpr std::array<int8_t, 16> kLevels = {0, 1,  2,  3,  4,  6,  8,  12,
                                              0, -1, -2, -3, -4, -6, -8, -12};
  const uint32_t exponent = byte_at(block, 0);
  const uint32_t bits = exponent < 2 ? uint32_t{0x00200000} << exponent : (exponent - 1) << 23;
  const auto scale = std::bit_cast<float>(bits);
  for (int64_t i = 0; i < kSmall; ++i) {
    const auto level = kLevels[static_cast<size_t>(nibble(block + 1, i, kSmall / 2))];
    to[i] = scale * static_cast<float>(level);
  }
}

}  // namespace

std::span<const GgufType> gguf_types() {
  static constexpr GgufType kTypes[] = {
      {0, "F32", 1, 4, DType::kF32, from_f32},     {1, "F16", 1, 2, DType::kF16, from_f16},
      {2, "Q4_0", kSmall, 18, {}, from_q4_0},      {3, "Q4_1", kSmall, 20, {}, from_q4_1},
      {6, "Q5_0", kSmall, 22, {}, from_q5_0},      {7, "Q5_1", kSmall, 24, {}, from_q5_1},
      {8, "Q8_0", kSmall, 34, {}, from_q8_0},      {10, "Q2_K", kSuper, 84, {}, from_q2_k},
      {11, "Q3_K", kSuper, 110, {}, from_q3_k},    {12, "Q4_K", kSuper, 144, {}, from_q4_k},
      {13, "Q5_K", kSuper, 176, {}, from_q5_k},    {14, "Q6_K", kSuper, 210, {}, from_q6_k},
      {20, "IQ4_NL", kSmall, 18, {}, from_iq4_nl}, {30, "BF16", 1, 2, DType::kBF16, from_bf16},
      {39, "MXFP4", kSmall, 17, {}, from_mxfp4},
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

void dequantize_gguf(const GgufType& type, const std::byte* bytes, std::span<float> elements) {
  if (type.plain == DType::kF32) {
    std::memcpy(elements.data(), bytes, elements.size_bytes());
    return;
  }
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(type.elements)) {
    type.dequantize(bytes, elements.data() + i);
    bytes += type.block_bytes;
  }
}

}  // namespace tapml
