// The types of a GGUF file's tensors: blocks of adjacent elements of a row with scales in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace tapml {

// How the elements of a type are made: level * scale of their group, plus its minimum, in f32 with
// a rounding after each.
struct GgufLevels {
  int bits = 8;                // 4: levels from 0 to 15, or, without minimums, from -8 to 7
  int64_t group = 32;          // neighbors with a scale in common
  DType scales = DType::kF16;  // a dtype that holds the scales and minimums exactly
  bool has_minimums = false;
  // Writes those of one block: `minimums` may be null if there are none.
  void (*unpack)(const std::byte* block, int8_t* levels, float* scales, float* minimums) = nullptr;
};

// A type that is read; the names and numbers are those of the enumeration ggml_type.
struct GgufType {
  uint32_t id = 0;
  std::string_view name;       // "Q4_0"
  int64_t elements = 1;        // of a block
  size_t block_bytes = 0;      // of a block in the file
  std::optional<DType> plain;  // of the types whose elements are numbers: f32, f16, bf16
  void (*widen)(const std::byte* bytes, float* element) = nullptr;  // of these types
  GgufLevels levels = {};                                           // of all others
};

// By number.
std::span<const GgufType> gguf_types();
// null for a type that is not read.
const GgufType* find_gguf_type(uint32_t id);
// The name of a known type, also of one that is not read ("IQ2_XXS"); empty if it is unknown.
std::string_view gguf_type_name(uint32_t id);

// The values of IQ4_NL's levels, ascending.
std::span<const int8_t> iq4_nl_levels();

// Widens whole blocks, as the package gguf computes them in f32: `bytes` has elements.size() /
// type.elements of them.
void dequantize_gguf(const GgufType& type, const std::byte* bytes, std::span<float> elements);

}  // namespace tapml
