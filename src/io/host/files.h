// Host files: memory-mapped reading, atomic writing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml {

struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // unmaps with the last copy
};

// A watched read-only mapping (io/host/mapped_ranges): parts that the file loses while it is mapped
// read as zeros, and check_mapped_files() reports it. UserError if the file is missing, not a
// regular file, or unreadable.
Result<MappedFile> map_file(const std::string& path);
// The whole file as text; `max_bytes` guards against absurd sizes.
Result<std::string> read_text_file(const std::string& path, size_t max_bytes = size_t{1} << 30);
// Writes to a temporary file beside `path`, flushes it and renames it: never a partial file.
// UserError for a folder that does not exist or is not writable; PlatformError kOutOfMemory for a
// full disk.
Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes);
// The same for the concatenation of `pieces`, which need not be contiguous in memory.
Status write_pieces_atomic(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);
Status write_text_atomic(const std::string& path, std::string_view text);
// The error of write_file_atomic for this path, without creating the file.
Status check_writable(const std::string& path);
// Creates the folder and its parents. UserError if that is not possible.
Status make_folder(const std::string& path);

}  // namespace tapml
