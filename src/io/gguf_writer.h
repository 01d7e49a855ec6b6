// Writes the GGUF container (io/gguf.h).
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/gguf.h"

namespace tapml {

// The metadata of a file that is written. Keeps its texts, which GgufFile::metadata has as views.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  GgufMetadata(GgufMetadata&&) = default;  // texts stay where they are
  GgufMetadata& operator=(GgufMetadata&&) = default;

  // Adds a value; a key may be added once.
  void add(std::string_view key, GgufValue value);
  void add_text(std::string_view key, std::string value);
  void add_texts(std::string_view key, std::vector<std::string> values);

  const std::vector<std::pair<std::string, GgufValue>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, GgufValue>> values_;
  std::deque<std::string> texts_;
};

struct GgufTensorInfo {
  std::string name;
  const GgufType* type = nullptr;
  Shape shape;  // outermost dimension first; rows of whole blocks
};

// Bytes of a tensor, and with the zeros that follow it in the file.
size_t gguf_bytes(const GgufType& type, const Shape& shape);
size_t gguf_padded_bytes(size_t bytes);

// A file of version 3 up to the first tensor: parse_gguf() reads what is made of this and the
// padded tensors in order. Integers are written as u32 where they fit, in arrays as i32, and
// numbers as f32, as llama.cpp expects them.
std::vector<std::byte> write_gguf_header(const GgufMetadata& metadata,
                                         const std::vector<GgufTensorInfo>& tensors);

}  // namespace tapml
