// Shader modules, as the Vulkan device reads them before the driver does. The first byte is the
// number of kernels, the rest are the module's bytes. Accepted modules are written back as the same
// bytes.
#include "device/vulkan/vulkan_spirv.h"
#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

void append_word(std::vector<std::byte>& bytes, size_t word) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  ModuleBlob blob;
  blob.platform = "vulkan";
  blob.format = "spirv";
  for (int i = 0; i < data[0]; ++i) blob.entries.push_back("kernel_" + std::to_string(i));
  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  blob.bytes.assign(bytes, bytes + size - 1);
  auto kernels = device::read_spirv_module(blob);
  if (!kernels) {
    require(kernels.error().kind == ErrorKind::kInternal, "the module is not the culprit");
    require(!kernels.error().message.empty(), "a complaint without a message");
    return 0;
  }
  std::vector<std::byte> written;
  for (const device::SpirvKernel& kernel : *kernels) {
    require(kernel.facts.bindings <= kernel.buffers, "a binding without a buffer");
    append_word(written, kernel.words.size());
    append_word(written, kernel.buffers);
    append_word(written, kernel.push_bytes);
    for (uint32_t word : kernel.words) append_word(written, word);
  }
  require(written == blob.bytes, "what was read is not what was there");
  return 0;
}
