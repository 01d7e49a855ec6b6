// A small random model and one carved run of it.
#pragma once

#include <vector>

#include "pipeline/kernel_cache.h"
#include "support/compiled_models.h"
#include "support/temp_folder.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {

using testing::CompiledModel;

inline const std::vector<int32_t> kPrompt = {3, 1, 4, 1, 5};

inline const CompiledModel& small_model() { return *testing::compiled_model("cpu", "mqa_tied"); }

// Its kernels are compiled once for all tests.
inline pipeline::KernelCache& kernel_cache() {
  static const testing::TempFolder folder;
  static pipeline::KernelCache cache(
      std::make_shared<DiskCache>(DiskCacheOptions{folder / "cache", {}}));
  return cache;
}

inline std::vector<HostTensor> logits_of(llm::Engine& engine) {
  std::vector<HostTensor> logits;
  unwrap(engine.clear());
  logits.push_back(unwrap(runtime::download(unwrap(engine.prefill(kPrompt)))));
  for (int32_t token : {9, 2}) {
    logits.push_back(unwrap(runtime::download(unwrap(engine.decode(token)))));
  }
  return logits;
}

inline Suite carved() {
  auto engine = small_model().engine();
  Carver carver(*small_model().executable);
  engine->vm().call_point().set_observer(&carver);
  logits_of(*engine);
  return carver.take();
}

}  // namespace tapml::topdown
