// Carving and hybrid runs of a small random model: observing changes no bit, and in a hybrid the
// source does not compute the target's calls.
#include <gtest/gtest.h>

#include <cstring>

#include "passes/kernel.h"
#include "runtime/offload.h"
#include "support/temp_folder.h"
#include "tir/visit.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

bool same_tensors(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape() ||
        std::memcmp(a[i].bytes().data(), b[i].bytes().data(), a[i].byte_size()) != 0) {
      return false;
    }
  }
  return true;
}

TEST(Carving, ObservedRunComputesTheSameBits) {
  auto engine = small_model().engine();
  const std::vector<HostTensor> plain = logits_of(*engine);
  Carver carver(*small_model().executable);
  unwrap(engine->vm().set_capture(carver.plan(), &carver));
  EXPECT_TRUE(same_tensors(plain, logits_of(*engine)));
  unwrap(engine->vm().set_capture({}, nullptr));
  EXPECT_TRUE(same_tensors(plain, logits_of(*engine)));
  // The suite ends with the logits of the last step.
  const Suite& suite = carver.suite();
  const std::string last = suite.calls.back().after.back();
  EXPECT_TRUE(same_tensors({plain.back()}, {suite.tensors.at(last)}));
  for (size_t i = 0; i < suite.calls.size(); ++i) {
    EXPECT_FALSE(suite.calls[i].origin.layers.empty()) << i;
    EXPECT_EQ(suite.calls[i].sequence - suite.calls[0].sequence, static_cast<int64_t>(i));
  }
}

TEST(Carving, SuiteSavesAndLoads) {
  const Suite suite = carved();
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "suite"));
  const Suite loaded = unwrap(load_suite(folder / "suite"));
  EXPECT_EQ(loaded.source, suite.source);
  EXPECT_EQ(loaded.fusion_policy, suite.fusion_policy);
  EXPECT_EQ(loaded.model, suite.model);
  ASSERT_EQ(loaded.kernels.size(), suite.kernels.size());
  for (size_t i = 0; i < suite.kernels.size(); ++i) {
    EXPECT_EQ(loaded.kernels[i].name, suite.kernels[i].name);
    EXPECT_EQ(loaded.kernels[i].spec, suite.kernels[i].spec);
    EXPECT_EQ(loaded.kernels[i].params, suite.kernels[i].params);
    EXPECT_EQ(loaded.kernels[i].modes, suite.kernels[i].modes);
  }
  ASSERT_EQ(loaded.calls.size(), suite.calls.size());
  for (size_t i = 0; i < suite.calls.size(); ++i) {
    EXPECT_EQ(loaded.calls[i].kernel, suite.calls[i].kernel);
    EXPECT_EQ(loaded.calls[i].sequence, suite.calls[i].sequence);
    EXPECT_EQ(loaded.calls[i].function, suite.calls[i].function);
    EXPECT_EQ(loaded.calls[i].origin, suite.calls[i].origin);
    EXPECT_EQ(loaded.calls[i].scalars, suite.calls[i].scalars);
    EXPECT_EQ(loaded.calls[i].before, suite.calls[i].before);
    EXPECT_EQ(loaded.calls[i].after, suite.calls[i].after);
  }
  ASSERT_EQ(loaded.tensors.size(), suite.tensors.size());
  for (const auto& [hash, tensor] : suite.tensors) {
    EXPECT_EQ(loaded.tensors.at(hash).dtype(), tensor.dtype());
    EXPECT_TRUE(same_tensors({loaded.tensors.at(hash)}, {tensor})) << hash;
  }
  // The same suite gives the same bytes.
  unwrap(save_suite(loaded, folder / "again"));
  EXPECT_EQ(testing::read_bytes(folder / "suite/suite.json"),
            testing::read_bytes(folder / "again/suite.json"));
}

// Every float that a program stores becomes 1e30.
tir::PrimFuncRef poisoned(const tir::PrimFunc& func) {
  auto result = std::make_shared<tir::PrimFunc>(func);
  result->body = tir::rewrite(func.body, {}, [](const tir::Stmt& s) -> tir::Stmt {
    if (s->kind != tir::StmtKind::kStore) return nullptr;
    const auto& store = tir::as<tir::StoreNode>(s);
    if (store.buffer->dtype != DType::kF32) return nullptr;
    return tir::make_store(store.buffer, store.indices, make_float(1e30, DType::kF32));
  });
  return result;
}

TEST(Hybrid, SourceDoesNotComputeTheTargetsCalls) {
  const CompiledModel& clean = small_model();
  auto target_session = testing::open_session("opencl");
  if (!target_session) GTEST_SKIP() << "opencl is unavailable";
  const std::vector<HostTensor> expected = logits_of(*clean.engine());

  Module fixed = pipeline::form_kernels(clean.golden.model.module);
  auto target_executable = pipeline::implement(fixed, target::parse_target("opencl"));
  auto runner = unwrap(runtime::KernelRunner::create(*target_session, target_executable));

  // A kernel of the decode steps, one of the prefill, and one of both.
  const Suite suite = carved();
  std::set<std::string> tried;
  for (const SuiteKernel& kernel : suite.kernels) {
    const std::string operators = kernel.name.substr(0, kernel.name.rfind('_'));
    if (!operators.starts_with("matmul") && operators != "rms_norm") continue;
    if (tried.size() == 4) break;
    tried.insert(kernel.name);
    pipeline::ImplementOptions poison;
    poison.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == kernel.name ? poisoned(*scheduled) : scheduled;
    };
    auto executable = pipeline::implement(fixed, target::parse_target("cpu"), poison);
    auto engine =
        unwrap(llm::Engine::create(*clean.session, executable, clean.golden.model.weights));
    auto worst = [&] {
      const std::vector<HostTensor> logits = logits_of(*engine);
      double largest = 0;
      for (size_t i = 0; i < logits.size(); ++i) {
        largest = std::max(largest, testing::largest_difference(logits[i], expected[i]));
      }
      return largest;
    };
    // Alone, the poisoned source is wrong ...
    EXPECT_GT(worst(), 1e-2) << kernel.name;
    // ... and correct once the target computes this kernel.
    runtime::Residency residency(*target_session);
    runtime::Offload offload(*runner, residency);
    unwrap(engine->vm().set_dispatch(offload.plan(*executable,
                                                  [&](const runtime::CallSite& site) {
                                                    return site.kernel->name == kernel.name;
                                                  }),
                                     &offload));
    EXPECT_LE(worst(), testing::logit_tolerance(expected[0])) << kernel.name;
    EXPECT_GT(offload.calls(), 0) << kernel.name;
    unwrap(engine->vm().set_dispatch({}, nullptr));
    EXPECT_GT(worst(), 1e-2) << kernel.name;
  }
  EXPECT_GE(tried.size(), 3u);
}

TEST(Replay, TheSourceOnItselfPasses) {
  const Suite suite = carved();
  KernelReference reference(suite);
  auto executable = pipeline::implement(reference.module(), target::parse_target("cpu"));
  auto session = testing::open_session("cpu");
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  int64_t calls = 0;
  for (int32_t k = 0; k < static_cast<int32_t>(suite.kernels.size()); ++k) {
    KernelVerdict verdict = unwrap(replay_kernel(suite, reference, k, *runner));
    EXPECT_TRUE(verdict.passed) << verdict.kernel;
    EXPECT_FALSE(verdict.source_wrong) << verdict.kernel;
    EXPECT_EQ(verdict.worst.target.max_abs, verdict.worst.source.max_abs) << verdict.kernel;
    calls += verdict.calls;
  }
  EXPECT_EQ(calls, static_cast<int64_t>(suite.calls.size()));
}

}  // namespace
}  // namespace tapml::topdown
