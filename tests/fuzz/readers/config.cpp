// config.json and generation_config.json. A valid configuration with few layers becomes a module
// that the verifier accepts.
#include "frontend/huggingface/config.h"

#include "analysis/verifier.h"
#include "finding.h"
#include "ir/exceptions.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

namespace {

constexpr size_t kFewWeights = 32;

void build_model(const frontend::HuggingFaceConfig& config) {
  if (config.weights().size() > kFewWeights) return;
  const Module module = config.module({.fallback = config.dtype, .by_name = {}});
  analysis::verify(module, "import");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  auto status = guard([&] { build_model(frontend::parse_config(text, "config.json")); });
  if (!status) require_user_error(status.error());
  auto eos = guard([&] { frontend::parse_generation_eos(text, "generation_config.json"); });
  if (!eos) require_user_error(eos.error());
  return 0;
}
