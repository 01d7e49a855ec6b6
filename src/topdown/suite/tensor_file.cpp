#include "topdown/suite/tensor_file.h"

#include <algorithm>
#include <cstring>

#include "io/safetensors.h"

namespace tapml::topdown {

namespace {

constexpr int64_t kSmall = 4096;  // bytes up to which a tensor is stored whole
// Larger tensors are stored whole, so that a file cannot request any amount of memory for the rows
// that it omits.
constexpr int64_t kLargest = int64_t{1} << 30;

std::span<const std::byte> row_of(const HostTensor& tensor, int64_t row) {
  const size_t bytes = tensor.byte_size() / static_cast<size_t>(tensor.shape()[0]);
  return tensor.bytes().subspan(static_cast<size_t>(row) * bytes, bytes);
}

bool all_zero(std::span<const std::byte> bytes) {
  // Each byte equals the one before it.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// The indices of nonzero rows, if so few are nonzero that the others are omitted.
std::optional<std::vector<int64_t>> live_rows(const HostTensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.byte_size());
  if (tensor.shape().size() < 2 || bytes <= kSmall || bytes > kLargest) return std::nullopt;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < tensor.shape()[0]; ++row) {
    if (!all_zero(row_of(tensor, row))) rows.push_back(row);
    if (2 * std::ssize(rows) > tensor.shape()[0]) return std::nullopt;
  }
  return rows;
}

HostTensor integers(const std::vector<int64_t>& values) {
  return HostTensor::from(DType::kI64, {std::ssize(values)}, std::span<const int64_t>(values));
}

Error malformed(const std::string& path, const std::string& expected, const std::string& found) {
  return user_error("a suite's tensor file is inconsistent", path, expected, found,
                    "carve the suite again");
}

Result<std::vector<int64_t>> integers_of(const SafetensorsFile& file, const std::string& name,
                                         const std::string& path) {
  const auto it = file.tensors.find(name);
  if (it == file.tensors.end() || it->second.dtype() != DType::kI64 ||
      it->second.shape().size() != 1) {
    return fail(malformed(path, "\"" + name + "\", a list of i64", "none"));
  }
  const auto values = it->second.values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

// Inserts the zero rows between the stored ones.
Result<HostTensor> with_all_rows(const HostTensor& data, const SafetensorsFile& file,
                                 const std::string& path) {
  TAPML_ASSIGN(const Shape shape, integers_of(file, "shape", path));
  TAPML_ASSIGN(const std::vector<int64_t> rows, integers_of(file, "rows", path));
  const auto bytes = checked_byte_count(data.dtype(), shape);
  if (!bytes || *bytes > kLargest) {
    return fail(malformed(path, "a shape of at most " + std::to_string(kLargest) + " bytes",
                          shape_to_string(shape)));
  }
  Shape expected = shape;
  if (!expected.empty()) expected[0] = std::ssize(rows);
  if (shape.empty() || data.shape() != expected) {
    return fail(malformed(path,
                          "data " + shape_to_string(expected) + " for " +
                              std::to_string(rows.size()) + " rows of " + shape_to_string(shape),
                          shape_to_string(data.shape())));
  }
  int64_t before = -1;
  for (int64_t row : rows) {
    if (row <= before || row >= shape[0]) {
      return fail(malformed(path, "ascending rows below " + std::to_string(shape[0]),
                            std::to_string(row) + " after " + std::to_string(before)));
    }
    before = row;
  }
  HostTensor whole = HostTensor::zeros(data.dtype(), shape);
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    const auto from = row_of(data, i);
    std::ranges::copy(from,
                      whole.mutable_bytes().begin() +
                          static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * from.size()));
  }
  return whole;
}

}  // namespace

std::vector<std::byte> write_tensor_file(const HostTensor& tensor) {
  const auto rows = live_rows(tensor);
  if (!rows) return write_safetensors({{"data", tensor}});
  Shape shape = tensor.shape();
  shape[0] = std::ssize(*rows);
  HostTensor data = HostTensor::zeros(tensor.dtype(), shape);
  auto to = data.mutable_bytes().begin();
  for (int64_t row : *rows) to = std::ranges::copy(row_of(tensor, row), to).out;
  return write_safetensors(
      {{"data", data}, {"rows", integers(*rows)}, {"shape", integers(tensor.shape())}});
}

int64_t stored_bytes(const HostTensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.byte_size());
  const auto rows = live_rows(tensor);
  return rows ? bytes / tensor.shape()[0] * std::ssize(*rows) : bytes;
}

Result<HostTensor> read_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const std::string& path) {
  TAPML_ASSIGN(const SafetensorsFile file, parse_safetensors(bytes, std::move(owner), path));
  const auto data = file.tensors.find("data");
  if (data == file.tensors.end()) {
    return fail(user_error("a suite's tensor file lacks its tensor", path, "\"data\"", "none",
                           "carve the suite again"));
  }
  if (!file.tensors.contains("rows")) return data->second;
  return with_all_rows(data->second, file, path);
}

}  // namespace tapml::topdown
