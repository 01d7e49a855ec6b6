// Runs steps over many kernels, on threads. Private to pipeline/.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/host/thread_pool.h"
#include "pipeline/instruments.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

using KernelStep = std::function<void(LoweredKernel& kernel)>;

class KernelWorkers {
 public:
  // `threads` includes the caller; 0: one a core.
  KernelWorkers(int threads, const Instruments& instruments)
      : threads_(threads), instruments_(instruments) {}

  // Runs the step on every kernel. A step changes only its kernel, so the result does not depend on
  // the threads. Rethrows the exception of the first kernel that failed. `what` is reported to the
  // instruments' watcher with the number of finished kernels; null: no reports.
  void each(std::vector<LoweredKernel>& kernels, const char* what, const KernelStep& step);

 private:
  int threads_;
  const Instruments& instruments_;
  std::unique_ptr<ThreadPool> pool_;  // created on first use
};

}  // namespace tapml::pipeline
