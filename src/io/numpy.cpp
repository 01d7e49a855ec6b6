#include "io/numpy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/strings.h"

namespace tapml {

namespace {

std::unexpected<Error> broken(std::string_view source, const std::string& problem,
                              const std::string& expected, const std::string& found,
                              const std::string& hint = "") {
  return fail(user_error(problem, std::string(source), expected, found, hint));
}

uint64_t little(std::span<const std::byte> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= uint64_t{std::to_integer<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

std::optional<DType> dtype_of(std::string_view descr) {
  // Byte order, kind, bytes; '|' is the byte order of single bytes.
  if (descr.size() < 3) return {};
  const char order = descr[0];
  const std::string_view type = descr.substr(1);
  if (type == "b1") return DType::kBool;
  if (type == "i1") return DType::kI8;
  if (type == "u1") return DType::kU8;
  if (order != '<') return {};
  if (type == "i2") return DType::kI16;
  if (type == "i4") return DType::kI32;
  if (type == "i8") return DType::kI64;
  if (type == "u2") return DType::kU16;
  if (type == "u4") return DType::kU32;
  if (type == "u8") return DType::kU64;
  if (type == "f2") return DType::kF16;
  if (type == "f4") return DType::kF32;
  if (type == "f8") return DType::kF64;
  return {};
}

// The value after 'key': in a header, which is a Python dictionary literal.
std::string_view field(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  size_t begin = header.find(':', at);
  if (begin == std::string_view::npos) return {};
  begin = header.find_first_not_of(' ', begin + 1);
  return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
}

std::optional<Shape> shape_of(std::string_view text) {
  if (!text.starts_with('(')) return {};
  const size_t end = text.find(')');
  if (end == std::string_view::npos) return {};
  text = text.substr(1, end - 1);
  Shape shape;
  while (true) {
    const size_t digits = text.find_first_not_of(" ,");
    if (digits == std::string_view::npos) return shape;
    text = text.substr(digits);
    int64_t dim = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (read.ec != std::errc() || dim < 0) return {};
    text = text.substr(static_cast<size_t>(read.ptr - text.data()));
    if (text.starts_with('L')) text = text.substr(1);  // Python 2
    shape.push_back(dim);
  }
}

// Converts elements in Fortran order to C order.
void from_fortran(std::span<const std::byte> from, size_t width, HostTensor& to) {
  const Shape& shape = to.shape();
  std::vector<int64_t> index(shape.size(), 0);
  std::byte* out = to.mutable_bytes().data();
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t at = 0;
    for (size_t d = shape.size(); d-- > 0;) at = at * shape[d] + index[d];
    std::memcpy(out + static_cast<size_t>(i) * width, from.data() + static_cast<size_t>(at) * width,
                width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

Result<HostTensor> parse_npy(std::span<const std::byte> bytes, std::string_view source) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr size_t kShort = 10, kLong = 12;  // bytes before the header, by version
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.size() < kShort || !text.starts_with(kMagic)) {
    return broken(source, "this is not a .npy file", "a file that begins with \\x93NUMPY",
                  std::to_string(bytes.size()) + " bytes with another beginning");
  }
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3) {
    return broken(source, "a .npy file of an unknown version", "version 1, 2 or 3",
                  std::to_string(version));
  }
  const size_t begin = version == 1 ? kShort : kLong;
  const uint64_t length =
      bytes.size() < begin ? bytes.size() : little(bytes, 8, version == 1 ? 2 : 4);
  if (length > bytes.size() - std::min(begin, bytes.size())) {
    return broken(source, "the .npy file is truncated",
                  "a header of " + std::to_string(length) + " bytes",
                  std::to_string(bytes.size()) + " bytes in total");
  }
  const std::string_view header = text.substr(begin, length);
  const std::string_view descr = field(header, "descr"), order = field(header, "fortran_order");
  const std::optional<Shape> shape = shape_of(field(header, "shape"));
  if (descr.empty() || order.empty() || !shape) {
    return broken(source, "the .npy file's header cannot be parsed",
                  "'descr', 'fortran_order' and 'shape'",
                  in_quotes(std::string(header.substr(0, 100))));
  }
  const size_t end = descr.starts_with('\'') ? descr.find('\'', 1) : std::string_view::npos;
  const std::string type(end == std::string_view::npos ? descr.substr(0, descr.find(','))
                                                       : descr.substr(1, end - 1));
  const std::optional<DType> dtype = end == std::string_view::npos ? std::nullopt : dtype_of(type);
  if (!dtype) {
    return broken(source, "the dtype of the array is not supported",
                  "little-endian integers, floats of 16, 32 or 64 bits, or bools", type,
                  "convert it with array.astype(...) in NumPy");
  }
  TAPML_ASSIGN(const int64_t size, checked_byte_count(*dtype, *shape));
  const std::span<const std::byte> data = bytes.subspan(begin + length);
  if (data.size() != static_cast<size_t>(size)) {
    return broken(
        source, "the .npy file's size does not match its header",
        std::to_string(size) + " bytes of " + dtype_name(*dtype) + shape_to_string(*shape),
        std::to_string(data.size()));
  }
  HostTensor tensor = HostTensor::zeros(*dtype, *shape);
  if (order.starts_with("True")) {
    from_fortran(data, dtype_bytes(*dtype), tensor);
  } else {
    std::ranges::copy(data, tensor.mutable_bytes().begin());
  }
  if (*dtype == DType::kBool) {  // any byte other than 0 and 1 is not a bool
    for (std::byte& byte : tensor.mutable_bytes())
      byte = byte == std::byte{0} ? byte : std::byte{1};
  }
  return tensor;
}

Result<std::map<std::string, HostTensor>> parse_npz(std::span<const std::byte> bytes,
                                                    std::string_view source) {
  constexpr uint32_t kEnd = 0x06054b50, kEntry = 0x02014b50, kLocal = 0x04034b50;
  constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30, kMostComment = 65535;
  auto no_archive = [&](const std::string& found) {
    return broken(source, "this is not a .npz file", "a zip archive, as numpy.savez writes it",
                  found);
  };
  size_t end = bytes.size();
  for (size_t back = kEndSize; back <= std::min(bytes.size(), kEndSize + kMostComment); ++back) {
    if (little(bytes, bytes.size() - back, 4) != kEnd) continue;
    end = bytes.size() - back;
    break;
  }
  if (end == bytes.size()) return no_archive("no archive directory");
  const uint64_t count = little(bytes, end + 10, 2);
  uint64_t at = little(bytes, end + 16, 4);
  std::map<std::string, HostTensor> arrays;
  for (uint64_t i = 0; i < count; ++i) {
    if (at > end || end - at < kEntrySize || little(bytes, at, 4) != kEntry) {
      return no_archive("a broken directory");
    }
    const uint64_t flags = little(bytes, at + 8, 2), method = little(bytes, at + 10, 2);
    const uint64_t size = little(bytes, at + 24, 4), name_size = little(bytes, at + 28, 2);
    const uint64_t local = little(bytes, at + 42, 4);
    const uint64_t rest = name_size + little(bytes, at + 30, 2) + little(bytes, at + 32, 2);
    if (rest > end - at - kEntrySize) return no_archive("a broken directory");
    std::string name(reinterpret_cast<const char*>(bytes.data()) + at + kEntrySize, name_size);
    const std::string where = std::string(source) + ":" + name;
    if (method != 0 || (flags & 1) != 0) {
      return broken(where, "the array is compressed", "an uncompressed array",
                    "method " + std::to_string(method),
                    "use numpy.savez instead of numpy.savez_compressed");
    }
    if (size == 0xffffffff || local == 0xffffffff) {
      return broken(where, "the archive is too large", "at most 4 GiB", "a zip64 archive");
    }
    if (local > end || end - local < kLocalSize || little(bytes, local, 4) != kLocal) {
      return no_archive("a broken entry " + name);
    }
    const uint64_t begin =
        local + kLocalSize + little(bytes, local + 26, 2) + little(bytes, local + 28, 2);
    if (begin > end || size > end - begin) return no_archive("a truncated entry: " + name);
    TAPML_ASSIGN(HostTensor array, parse_npy(bytes.subspan(begin, size), where));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays[name] = std::move(array);
    at += kEntrySize + rest;
  }
  return arrays;
}

}  // namespace tapml
