// suite.json: the reader, and the check that kernels, calls and tensors fit together. Content
// hashes are not compared, so that the code after that check is reached; a tensor's dtype and shape
// are derived from its hash. Accepted text is written and reads back as the same. An input that is
// not a JSON object is read as a tensor file, and an accepted file is written and reads back as the
// same.
#include "topdown/suite/suite.h"

#include <array>

#include "finding.h"
#include "topdown/suite/tensor_file.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// The first digit is the dtype, the second the rank, then one digit for each dimension.
Result<HostTensor> make_tensor(const std::string& hash) {
  constexpr std::array<DType, 4> kTypes = {DType::kF32, DType::kI32, DType::kBF16, DType::kBool};
  const DType dtype = kTypes[static_cast<size_t>(digit(hash[0])) % kTypes.size()];
  Shape shape(static_cast<size_t>(digit(hash[1])) % 5);
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = digit(hash[2 + i]);
  return HostTensor::zeros(dtype, shape);
}

constexpr int64_t kLargestWritten = 1 << 20;  // bytes

void read_tensor(const uint8_t* data, size_t size) {
  const auto read = [](std::span<const std::byte> bytes) {
    return topdown::read_tensor_file(bytes, nullptr, "tensor.safetensors");
  };
  const Result<HostTensor> tensor = read(std::as_bytes(std::span(data, size)));
  if (!tensor) return require_user_error(tensor.error());
  if (static_cast<int64_t>(tensor->byte_size()) > kLargestWritten) return;
  const std::vector<std::byte> written = topdown::write_tensor_file(*tensor);
  const Result<HostTensor> again = read(written);  // a view of them
  require(again && content_hash(*again) == content_hash(*tensor),
          "a tensor that was written is another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0 && data[0] != '{') {
    read_tensor(data, size);
    return 0;
  }
  const topdown::SuiteSource source = {.tensor = make_tensor, .check_hashes = false};
  Result<topdown::Suite> suite = topdown::parse_suite(as_text(data, size), "suite.json", source);
  if (!suite) {
    require_user_error(suite.error());
    return 0;
  }
  const std::string written = topdown::suite_text(*suite);
  const auto again = topdown::parse_suite_index(written, "written.json");
  require(again && topdown::suite_text(*again) == written,
          "a suite that was written is another one");
  return 0;
}
