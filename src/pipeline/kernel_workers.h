// Steps over many kernels, on threads. Private to pipeline/.
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
  // `threads` counts the caller; 0: one a core.
  KernelWorkers(int threads, const Instruments& instruments)
      : threads_(threads), instruments_(instruments) {}

  // Runs the step on every kernel, which changes that kernel alone, so that the result does not
  // depend on the threads. Throws what the first kernel that failed threw. `what` is reported to
  // the instruments' watcher with the kernels that are done; null: nothing is.
  void each(std::vector<LoweredKernel>& kernels, const char* what, const KernelStep& step);

 private:
  int threads_;
  const Instruments& instruments_;
  std::unique_ptr<ThreadPool> pool_;  // made when it is needed
};

}  // namespace tapml::pipeline
