// The readers of NumPy files: the first bytes decide whether an input is an array or an archive. An
// accepted array has as many bytes as its shape needs, and a second read gives the same.
#include "io/numpy.h"

#include <algorithm>
#include <vector>

#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

void look_at(const HostTensor& tensor, const HostTensor& again) {
  require(tensor.dtype() == again.dtype() && tensor.shape() == again.shape(), "another tensor");
  require(std::ranges::equal(tensor.bytes(), again.bytes()), "other bytes");
  for (int64_t i = 0; i < std::min<int64_t>(tensor.size(), 64); ++i) tensor.at_f64(i);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> image(bytes, bytes + size);
  if (size > 0 && data[0] == 0x93) {
    const auto array = parse_npy(image, "input");
    if (!array) {
      require_user_error(array.error());
    } else {
      look_at(*array, *parse_npy(image, "input"));
    }
    return 0;
  }
  const auto arrays = parse_npz(image, "input");
  if (!arrays) {
    require_user_error(arrays.error());
    return 0;
  }
  const auto again = parse_npz(image, "input");
  for (const auto& [name, tensor] : *arrays) look_at(tensor, again->at(name));
  return 0;
}
