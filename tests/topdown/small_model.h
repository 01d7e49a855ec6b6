// A small random model and one carved run of it.
#pragma once

#include <limits>
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

// Its weights, with one element of the last norm set to NaN.
inline std::map<std::string, HostTensor> weights_with_nan() {
  std::map<std::string, HostTensor> weights = small_model().golden.model.weights;
  HostTensor& norm = weights.at("model.norm.weight");
  HostTensor wrong = HostTensor::zeros(norm.dtype(), norm.shape());
  for (int64_t i = 0; i < wrong.size(); ++i) wrong.set_f64(i, norm.at_f64(i));
  wrong.set_f64(3, std::numeric_limits<double>::quiet_NaN());
  norm = wrong;
  return weights;
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
  engine->local_vm().call_point().set_observer(&carver);
  logits_of(*engine);
  return carver.take();
}

}  // namespace tapml::topdown
