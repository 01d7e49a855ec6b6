// The safetensors format: 8 bytes of little-endian header length, a JSON header, raw tensors.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml {

struct SafetensorsFile {
  // By name; views of the given bytes, except those listed in `copied`.
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::string> metadata;
  // Tensors whose data is not aligned for their dtype, which the format allows.
  std::vector<std::string> copied;
  // Tensors of unknown dtypes, by name; only with keep_unknown_dtypes.
  std::map<std::string, std::string> unknown_dtypes;
  // Of these, those of F8_E4M3, F8_E5M2 and F8_E8M0, as u8.
  std::map<std::string, HostTensor> bytes;
};

struct SafetensorsOptions {
  // Lists tensors of unknown dtypes instead of rejecting them. Their extents are not checked,
  // except those of SafetensorsFile::bytes.
  bool keep_unknown_dtypes = false;
};

// Reads a whole file image that `owner` keeps alive. Every fault is a UserError that names `source`
// and the tensor: truncated, header too long (100 MB at most), not JSON, wrong or unknown dtype,
// negative or overflowing shape, offsets reversed, overlapping, out of range or with gaps, a byte
// count that does not match dtype and shape.
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes,
                                          std::shared_ptr<const void> owner,
                                          std::string_view source,
                                          const SafetensorsOptions& options = {});

// Where a file has a tensor's bytes.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  int64_t begin = 0, end = 0;  // in the file
};

// The bytes of the header of a file that begins with `first`, at least 8 bytes: its length
// included. UserError as for parse_safetensors().
Result<int64_t> safetensors_header_bytes(std::span<const std::byte> first, int64_t file_bytes,
                                         std::string_view source);
// The tensors of a file of `file_bytes` that begins with the whole header, in file order. UserError
// as for parse_safetensors().
Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> header,
                                                               int64_t file_bytes,
                                                               std::string_view source);

// A file image in pieces, which avoids copying tensor data.
struct SafetensorsPieces {
  std::vector<std::byte> header;                 // with its length
  std::vector<std::span<const std::byte>> data;  // views of the tensors, in file order
};
SafetensorsPieces safetensors_pieces(const std::map<std::string, HostTensor>& tensors,
                                     const std::map<std::string, std::string>& metadata = {});

// The file image of `tensors`, deterministic (sorted by name, header padded to 8 bytes). Only bool,
// i8..i64, u8..u64, f16, bf16, f32 and f64.
std::vector<std::byte> write_safetensors(const std::map<std::string, HostTensor>& tensors,
                                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tapml
