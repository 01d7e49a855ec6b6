#include "pipeline/kernel_workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace tapml::pipeline {

void KernelWorkers::each(std::vector<LoweredKernel>& kernels, const char* what,
                         const KernelStep& step) {
  const auto count = std::ssize(kernels);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::exception_ptr> failures(kernels.size());
  std::atomic<int64_t> done = 0;
  std::atomic<int64_t> first_failure = count;
  auto tell_done = [&] {
    if (what) tell(instruments_.watcher, {what, done, count, "kernels"});
  };
  tell_done();
  auto range = [&](int64_t begin, int64_t end) {
    // Kernels before a failed one are still processed: they may fail, too.
    for (int64_t i = begin; i < end && i < first_failure; ++i) {
      const auto number = static_cast<size_t>(i);
      try {
        // The interrupt hook must run on the caller's thread.
        if (instruments_.poll && std::this_thread::get_id() == caller) instruments_.poll();
        step(kernels[number]);
      } catch (...) {
        failures[number] = std::current_exception();
        int64_t known = first_failure;
        while (i < known && !first_failure.compare_exchange_weak(known, i)) {
        }
      }
      ++done;
      tell_done();
    }
  };
  if (count > 1 && !pool_) pool_ = std::make_unique<ThreadPool>(threads_);
  if (pool_) {
    pool_->parallel_for(count, range);
  } else {
    range(0, count);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace tapml::pipeline
