// Carving several texts at once.
#include <gtest/gtest.h>

#include "support/sessions.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// Decode steps of two texts, and of the remaining one.
TEST(Carver, BatchesAreTests) {
  auto engine = small_model().engine();
  Carver carver(*small_model().executable);
  engine->local_vm().call_point().set_observer(&carver);
  const std::vector<std::vector<int32_t>> prompts = {{3, 1, 4, 1, 5}, {2, 7}};
  unwrap(engine->generate_batch(prompts, {.max_tokens = 3, .eos = {}, .sampler = {}}));
  engine->local_vm().call_point().set_observer(nullptr);
  const Suite suite = carver.take();
  bool batched = false;
  for (const SuiteCall& call : suite.calls) {
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
    if (!kernel.name.starts_with("paged_attention") || call.function != "decode") continue;
    for (const std::string& hash : call.after) {
      if (!hash.empty()) batched |= suite.tensors.at(hash).shape()[0] == 2;
    }
  }
  EXPECT_TRUE(batched) << "attention of a decode step sees both texts";
  KernelReference reference(suite);
  auto session = testing::open_session("cpu");
  auto runner = unwrap(runtime::KernelRunner::create(*session, small_model().executable));
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    const auto verdict = unwrap(replay_kernel(suite, reference, static_cast<int32_t>(k), *runner));
    EXPECT_TRUE(verdict.passed) << verdict.kernel;
    EXPECT_FALSE(verdict.source_wrong) << verdict.kernel;
  }
}

}  // namespace
}  // namespace tapml::topdown
