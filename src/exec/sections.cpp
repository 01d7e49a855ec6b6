#include "exec/sections.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/rounding.h"
#include "exec/archive.h"

namespace tapml {

namespace {

constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint32_t kOtherByteOrder = 0x04030201;
constexpr size_t kHeaderSize = 40;
constexpr size_t kEntrySize = 32;
constexpr uint32_t kMaxSections = 64;

struct Entry {
  uint32_t kind = 0;
  uint64_t offset = 0, size = 0, checksum = 0;
};

size_t next_section(size_t size) { return round_up(size, kSectionAlignment); }

// The header and table, with `checksum` filled in.
std::vector<std::byte> head_of(const SectionFormat& format, const std::vector<Entry>& entries,
                               uint64_t file_size, uint64_t checksum) {
  ByteWriter head;
  head.raw(std::as_bytes(std::span(format.magic)));
  head.integer(format.version, 4);
  head.integer(kByteOrder, 4);
  head.integer(entries.size(), 4);
  head.integer(0, 4);
  head.integer(file_size, 8);
  head.integer(checksum, 8);
  for (const Entry& entry : entries) {
    head.integer(entry.kind, 4);
    head.integer(0, 4);
    head.integer(entry.offset, 8);
    head.integer(entry.size, 8);
    head.integer(entry.checksum, 8);
  }
  return head.take();
}

class SectionReader {
 public:
  SectionReader(const SectionFormat& format, std::span<const std::byte> bytes,
                const std::string& source, bool skip_checksums)
      : format_(format), bytes_(bytes), source_(source), skip_checksums_(skip_checksums) {}

  Result<std::map<uint32_t, std::span<const std::byte>>> run() {
    TAPML_TRY(read_head());
    std::map<uint32_t, std::span<const std::byte>> sections;
    size_t end = kHeaderSize + entries_.size() * kEntrySize;
    for (const Entry& entry : entries_) {
      if (entry.offset != next_section(end) || entry.size > bytes_.size() ||
          entry.offset > bytes_.size() - entry.size) {
        return fail(malformed("a section is not at its offset"));
      }
      // The gaps between sections must not hide bytes.
      for (size_t i = end; i < entry.offset; ++i) {
        if (bytes_[i] != std::byte{0}) return fail(altered());
      }
      auto part = bytes_.subspan(entry.offset, entry.size);
      if (!skip_checksums_ && checksum64(part) != entry.checksum) return fail(altered());
      if (!sections.emplace(entry.kind, part).second) {
        return fail(malformed("two sections have the same kind"));
      }
      end = entry.offset + entry.size;
    }
    if (end != bytes_.size()) return fail(malformed("bytes follow the last section"));
    return sections;
  }

 private:
  Status read_head() {
    if (bytes_.size() < kMagicSize ||
        std::memcmp(bytes_.data(), format_.magic.data(), kMagicSize) != 0) {
      return fail(
          user_error(source_ + " is not " + format_.what, source_, format_.what, "another format"));
    }
    ByteReader reader(bytes_);
    reader.raw(kMagicSize);
    auto version = static_cast<uint32_t>(reader.integer(4));
    auto order = static_cast<uint32_t>(reader.integer(4));
    auto count = static_cast<uint32_t>(reader.integer(4));
    uint64_t reserved = reader.integer(4);
    uint64_t file_size = reader.integer(8);
    uint64_t checksum = reader.integer(8);
    if (reader.failed()) return fail(truncated(kHeaderSize));
    if (order == kOtherByteOrder) {
      return fail(user_error(source_ + " has the byte order of another machine", source_,
                             "little-endian numbers", "big-endian numbers"));
    }
    if (version != format_.version) {
      return fail(user_error(source_ + " has another format version", source_,
                             "version " + std::to_string(format_.version),
                             "version " + std::to_string(version),
                             "create the file again with this program"));
    }
    if (order != kByteOrder || reserved != 0 || count > kMaxSections) return fail(altered());
    if (file_size > bytes_.size()) return fail(truncated(file_size));
    if (file_size < bytes_.size()) return fail(malformed("it is longer than its header says"));
    for (uint32_t i = 0; i < count; ++i) {
      Entry entry;
      entry.kind = static_cast<uint32_t>(reader.integer(4));
      reserved |= reader.integer(4);
      entry.offset = reader.integer(8);
      entry.size = reader.integer(8);
      entry.checksum = reader.integer(8);
      entries_.push_back(entry);
    }
    if (reader.failed()) return fail(truncated(kHeaderSize + count * kEntrySize));
    if (reserved != 0) return fail(altered());
    if (!skip_checksums_ && checksum64(head_of(format_, entries_, file_size, 0)) != checksum) {
      return fail(altered());
    }
    return {};
  }

  Error truncated(uint64_t wanted) const {
    return user_error(source_ + " is truncated", source_, std::to_string(wanted) + " bytes",
                      std::to_string(bytes_.size()) + " bytes", "create the file again");
  }
  Error altered() const {
    return user_error(source_ + " was altered: a checksum does not match", source_, "", "",
                      "create the file again");
  }
  Error malformed(const char* what) const {
    return user_error(std::string("the file is malformed: ") + what, source_);
  }

  const SectionFormat& format_;
  std::span<const std::byte> bytes_;
  const std::string& source_;
  bool skip_checksums_;
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<std::byte> write_sections(const SectionFormat& format,
                                      const std::vector<Section>& sections) {
  std::vector<Entry> entries;
  size_t end = kHeaderSize + sections.size() * kEntrySize;
  for (const Section& section : sections) {
    end = next_section(end);
    entries.push_back({section.kind, end, section.bytes.size(), checksum64(section.bytes)});
    end += section.bytes.size();
  }
  uint64_t checksum = checksum64(head_of(format, entries, end, 0));
  std::vector<std::byte> file = head_of(format, entries, end, checksum);
  file.resize(end);
  for (size_t i = 0; i < sections.size(); ++i) {
    std::copy(sections[i].bytes.begin(), sections[i].bytes.end(),
              file.begin() + static_cast<std::ptrdiff_t>(entries[i].offset));
  }
  return file;
}

Result<std::map<uint32_t, std::span<const std::byte>>> read_sections(
    const SectionFormat& format, std::span<const std::byte> bytes, const std::string& source,
    bool skip_checksums) {
  return SectionReader(format, bytes, source, skip_checksums).run();
}

}  // namespace tapml
