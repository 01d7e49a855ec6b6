// What a device reaches at most, and what a kernel's work needs there at least.
#pragma once

#include <span>

#include "exec/executable.h"
#include "pipeline/kernel_cache.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::topdown {

// Measured by kernels that our own code generation makes.
struct Ceilings {
  double flops_per_s = 0;  // f32, two for a multiply-add
  double bytes_per_s = 0;  // streaming, the better of reading and of a triad
};

// Runs each of the kernels a few times (about a second in all) and keeps the best. PlatformError
// where the device cannot. `target` knows its processor (target::adopt_device). `cache` may be
// null.
Ceilings measure_ceilings(runtime::Session& session, const target::Target& target,
                          pipeline::KernelCache* cache = nullptr);

// What a kernel's calls compute and move (analysis/cost.h).
struct CallWork {
  double flops = 0, bytes = 0;
  // False where data says which iterations there are (attention over a cache): what is counted is
  // no measure of what was done then.
  bool exact = true;

  // The time that the ceilings allow at least; 0 where it is not known.
  double least_seconds(const Ceilings& ceilings) const;
};

// The work of one kernel as a function of a call's scalars.
class KernelWork {
 public:
  explicit KernelWork(const KernelInfo& kernel);
  CallWork of(std::span<const int64_t> scalars) const;

 private:
  ScalarProgram flops_, bytes_;
  bool exact_ = false;
};

}  // namespace tapml::topdown
