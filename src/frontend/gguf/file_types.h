// The types of GGUF files as a whole, and which type each tensor of such a file gets.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/gguf_writer.h"

namespace tapml::frontend {

// The names and numbers are those of llama.cpp's enumeration llama_ftype.
struct GgufFileType {
  std::string_view name;  // "Q4_K_M"
  uint32_t id = 0;
  std::string_view most;  // the type of most matrices
  std::string_view doc;   // how it is made
};

std::span<const GgufFileType> gguf_file_types();
// In upper or lower case; "Q4_K" and the like are those of medium size. UserError that lists them.
const GgufFileType& find_gguf_file_type(std::string_view name);

// What the choice depends on besides a tensor.
struct GgufMixture {
  int64_t layers = 0, heads = 0, kv_heads = 0, experts = 0;
  bool is_tied = false;  // there is no tensor output.weight
};

// The type of a tensor, as llama-quantize chooses it without an importance matrix: vectors, norms
// and routers are F32, and some matrices have more bits than most. Rows that are not whole blocks
// of a type get the one with blocks of 32 that llama.cpp takes in its place, or F16.
const GgufType& gguf_tensor_type(const GgufFileType& file, const GgufMixture& mixture,
                                 std::string_view name, const Shape& shape);

}  // namespace tapml::frontend
