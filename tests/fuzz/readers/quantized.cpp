// Quantized safetensors: the JSON of a config.json up to the first null byte, then the file. Each
// weight is made, packed and expanded.
#include "finding.h"
#include "frontend/quantized/methods.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int64_t kMostElements = 1 << 16;

void attempt(const auto& read) {
  auto status = guard(read);
  if (!status) require_user_error(status.error());
}

void make_weights(const frontend::WeightFiles& files) {
  for (const auto& [name, weight] : files.blocks) {
    if (element_count(weight->shape) > kMostElements) continue;
    if (weight->layout) {
      attempt([&] {
        const int64_t levels = weight->packed().packed.size();
        const int64_t of_byte = weight->layout->is_whole() ? 1 : 2;
        require(levels * of_byte == element_count(weight->shape), "a weight of another size");
      });
    }
    attempt([&] { require(weight->expanded().shape() == weight->shape, "another shape"); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all = as_text(data, size);
  const size_t end = std::min(all.find('\0'), all.size());
  const std::string_view config = all.substr(0, end), image = all.substr(std::min(end + 1, size));
  attempt([&] {
    const Json json = unwrap(parse_json(config, "config.json"));
    const auto layers = frontend::parse_config_quantization(JsonObjectReader(json, "config.json"));
    const std::vector<std::byte> bytes(std::as_bytes(std::span(image)).begin(),
                                       std::as_bytes(std::span(image)).end());
    SafetensorsFile file =
        unwrap(parse_safetensors(bytes, nullptr, "input", {.keep_unknown_dtypes = true}));
    frontend::WeightFiles files{.folder = "input", .tensors = std::move(file.tensors)};
    files.unknown_dtypes = std::move(file.unknown_dtypes);
    files.bytes = std::move(file.bytes);
    frontend::arrange_quantized(layers, files);
    make_weights(files);
  });
  return 0;
}
