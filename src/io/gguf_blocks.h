// The types of a GGUF file's tensors: blocks of adjacent elements of a row with scales in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace tapml {

// A type that is read; the names and numbers are those of the enumeration ggml_type.
struct GgufType {
  uint32_t id = 0;
  std::string_view name;       // "Q4_0"
  int64_t elements = 1;        // of a block
  size_t block_bytes = 0;      // of a block in the file
  std::optional<DType> plain;  // of the types whose elements are numbers: f32, f16, bf16
  // Writes the elements of one block, each as the package gguf computes it in f32.
  void (*dequantize)(const std::byte* block, float* elements) = nullptr;
};

// By number.
std::span<const GgufType> gguf_types();
// null for a type that is not read.
const GgufType* find_gguf_type(uint32_t id);
// The name of a known type, also of one that is not read ("IQ2_XXS"); empty if it is unknown.
std::string_view gguf_type_name(uint32_t id);

// Widens whole blocks: `bytes` has elements.size() / type.elements of them.
void dequantize_gguf(const GgufType& type, const std::byte* bytes, std::span<float> elements);

}  // namespace tapml
