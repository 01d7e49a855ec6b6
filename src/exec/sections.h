// The container format of a sectioned file: a header, a table of sections and their bytes, all
// covered by checksums. Private to the component.
//
//   0   magic (8 bytes)
//   8   format version (u32), byte-order mark (u32, 0x01020304)
//   16  number of sections (u32), 0 (u32)
//   24  size of the file (u64)
//   32  checksum of the header (with 0 here) and the table (u64)
//   40  the table: kind (u32), 0 (u32), offset (u64), size (u64), checksum (u64) for each section
// The sections follow in the order of the table, each at the next multiple of 64; gaps are zero.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

inline constexpr size_t kSectionAlignment = 64;
inline constexpr size_t kMagicSize = 8;

struct SectionFormat {
  std::array<char, kMagicSize> magic;
  uint32_t version = 1;
  const char* what = "file";  // "an executable", for messages
};

struct Section {
  uint32_t kind = 0;
  std::vector<std::byte> bytes;
};

std::vector<std::byte> write_sections(const SectionFormat& format,
                                      const std::vector<Section>& sections);

// The sections by kind, as views of `bytes`. UserError that names `source` for every fault.
// `skip_checksums` accepts altered bytes: for tests of the later checks.
Result<std::map<uint32_t, std::span<const std::byte>>> read_sections(
    const SectionFormat& format, std::span<const std::byte> bytes, const std::string& source,
    bool skip_checksums = false);

}  // namespace tapml
