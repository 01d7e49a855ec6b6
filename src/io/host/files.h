// Files on the host: memory-mapped reading, atomic writing.
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
  std::shared_ptr<const void> owner;  // unmaps when the last copy goes
};

// Read-only mapping, watched (io/host/mapped_ranges): what the file loses while it is mapped reads
// as zeros, and check_mapped_files() reports it. UserError when the file is missing, not a regular
// file, or unreadable.
Result<MappedFile> map_file(const std::string& path);
// The whole file as text; `max_bytes` guards against nonsense.
Result<std::string> read_text_file(const std::string& path, size_t max_bytes = size_t{1} << 30);
// Writes to a temporary file beside `path`, flushes it, renames: never half a file. UserError for a
// folder that does not exist or is not writable; PlatformError kOutOfMemory for a full disk.
Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes);
// The same of a file that is `pieces` one after the other, which need not lie together in memory.
Status write_pieces_atomic(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);
Status write_text_atomic(const std::string& path, std::string_view text);
// What write_file_atomic would say about the place, without making the file.
Status check_writable(const std::string& path);
// Makes the folder and its parents. UserError when that is not possible.
Status make_folder(const std::string& path);

}  // namespace tapml
