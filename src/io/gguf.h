// The GGUF container of llama.cpp: metadata by key, then tensors in blocks (io/gguf_blocks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "io/gguf_blocks.h"
#include "tensor/host_tensor.h"

namespace tapml {

// A value of the metadata; integers and floats are widened, texts are views of the file.
using GgufValue =
    std::variant<bool, int64_t, double, std::string_view, std::vector<bool>, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string_view>>;

// "an integer", "an array of texts", ...
const char* gguf_kind_name(const GgufValue& value);

struct GgufTensor {
  std::string name;
  const GgufType* type = nullptr;
  Shape shape;                       // outermost dimension first, as in Hugging Face's files
  std::span<const std::byte> bytes;  // a view of the file

  int64_t size() const { return element_count(shape); }
};

struct GgufFile {
  int64_t version = 0;
  std::vector<std::pair<std::string, GgufValue>> metadata;  // in the order of the file
  std::vector<GgufTensor> tensors;                          // in the order of the file
  std::shared_ptr<const void> owner;                        // of the bytes

  // null if there is no such key.
  const GgufValue* find(std::string_view key) const;
};

// Whether a file begins as a GGUF does.
bool looks_like_gguf(std::span<const std::byte> bytes);

// Reads a whole file image that `owner` keeps alive, of version 2 or 3, little endian. Metadata and
// the list of tensors take memory in proportion to their bytes in the file. Every fault is a
// UserError that names `source` and the key or tensor: truncated, another version or byte order,
// counts beyond the file, a text beyond it, an array of arrays, an unknown type, a key or tensor
// twice, a wrong alignment, more than 4 dimensions, overflowing shapes, rows that are not whole
// blocks, a tensor that is misaligned, outside the file or overlaps another one, and a type that is
// not read.
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                            std::string_view source);

}  // namespace tapml
