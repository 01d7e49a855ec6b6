#include "topdown/suite/npz.h"

#include <array>
#include <limits>
#include <string_view>

namespace tapml::topdown {

namespace {

const char* numpy_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kI8:
      return "|i1";
    case DType::kI16:
      return "<i2";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU8:
      return "|u1";
    case DType::kU16:
    case DType::kBF16:
      return "<u2";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kF16:
      return "<f2";
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
  }
  return "|u1";
}

// The header of a .npy file, version 1.0.
std::string npy_header(const HostTensor& tensor) {
  std::string shape;
  for (int64_t dim : tensor.shape()) shape += std::to_string(dim) + ",";
  std::string text = std::string("{'descr': '") + numpy_type(tensor.dtype()) +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t kFixed = 10, kAlignment = 64;
  text.append(kAlignment - 1 - (kFixed + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header +=
      {'\x01', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> result{};
  for (uint32_t i = 0; i < result.size(); ++i) {
    uint32_t x = i;
    for (int bit = 0; bit < 8; ++bit) x = (x & 1) != 0 ? 0xedb88320 ^ (x >> 1) : x >> 1;
    result[i] = x;
  }
  return result;
}
constexpr std::array<uint32_t, 256> kCrcTable = crc_table();

// CRC-32 as zip files have it (polynomial 0xedb88320), a byte at a time.
class Crc {
 public:
  void update(std::span<const std::byte> bytes) {
    for (std::byte byte : bytes) {
      value_ = kCrcTable[(value_ ^ static_cast<uint32_t>(byte)) & 0xff] ^ (value_ >> 8);
    }
  }
  uint32_t value() const { return ~value_; }

 private:
  uint32_t value_ = ~uint32_t{0};
};

class Zip {
 public:
  void add(const std::string& name, std::string_view head, std::span<const std::byte> body) {
    Crc crc;
    crc.update(std::as_bytes(std::span(head)));
    crc.update(body);
    const auto size = static_cast<uint32_t>(head.size() + body.size());
    const auto offset = static_cast<uint32_t>(bytes_.size());
    for (bool central : {false, true}) {
      std::vector<std::byte>& out = central ? directory_ : bytes_;
      put(out, central ? 0x02014b50 : 0x04034b50, 4);
      if (central) put(out, 20, 2);  // made by: version 2.0
      put(out, 20, 2);               // needs version 2.0
      put(out, 0, 2);                // flags
      put(out, 0, 2);                // stored
      put(out, 0, 2);                // time: midnight
      put(out, 0x21, 2);             // date: 1980-01-01, the same in every file
      put(out, crc.value(), 4);
      put(out, size, 4);
      put(out, size, 4);
      put(out, name.size(), 2);
      put(out, 0, 2);  // extra field
      if (central) {
        put(out, 0, 2);  // comment
        put(out, 0, 2);  // disk
        put(out, 0, 2);  // internal attributes
        put(out, 0, 4);  // external attributes
        put(out, offset, 4);
      }
      append(out, std::as_bytes(std::span(name)));
    }
    append(bytes_, std::as_bytes(std::span(head)));
    append(bytes_, body);
    ++files_;
  }

  std::vector<std::byte> finish() {
    const size_t offset = bytes_.size();
    append(bytes_, directory_);
    put(bytes_, 0x06054b50, 4);
    put(bytes_, 0, 4);  // disks
    put(bytes_, files_, 2);
    put(bytes_, files_, 2);
    put(bytes_, directory_.size(), 4);
    put(bytes_, offset, 4);
    put(bytes_, 0, 2);  // comment
    return std::move(bytes_);
  }

 private:
  static void put(std::vector<std::byte>& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  static void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> bytes_, directory_;
  uint64_t files_ = 0;
};

}  // namespace

Result<std::vector<std::byte>> write_npz(
    const std::vector<std::pair<std::string, HostTensor>>& arrays) {
  // Space for the headers of files and arrays, and for the directory.
  constexpr uint64_t kOverhead = 1024;
  uint64_t total = 0;
  for (const auto& [name, tensor] : arrays) {
    total += tensor.byte_size() + 2 * name.size() + kOverhead;
  }
  if (total > std::numeric_limits<uint32_t>::max() ||
      arrays.size() > std::numeric_limits<uint16_t>::max()) {
    return fail(user_error(
        "the arrays are too large for one npz file", "npz", "at most 4 GiB and 65,535 arrays",
        std::to_string(total) + " bytes, " + std::to_string(arrays.size()) + " arrays"));
  }
  Zip zip;
  for (const auto& [name, tensor] : arrays) {
    zip.add(name + ".npy", npy_header(tensor), tensor.bytes());
  }
  return zip.finish();
}

}  // namespace tapml::topdown
