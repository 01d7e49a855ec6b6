// The ceilings of a device, and the least time that a kernel's work needs under them.
#pragma once

#include <span>

#include "exec/executable.h"
#include "pipeline/kernel_cache.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::topdown {

// Measured by kernels from our own code generation.
struct Ceilings {
  double flops_per_s = 0;  // f32, a multiply-add counts two
  double bytes_per_s = 0;  // streaming, the better of a read and a triad
};

// Runs each of the kernels a few times (about a second in all) and keeps the best. PlatformError if
// the device cannot run them. `target` knows its processor (target::adopt_device). `cache` may be
// null.
Ceilings measure_ceilings(runtime::Session& session, const target::Target& target,
                          pipeline::KernelCache* cache = nullptr);

// The arithmetic and memory traffic of a kernel's calls (analysis/cost.h).
struct CallWork {
  double flops = 0, bytes = 0;
  // False if data decides which iterations run (attention over a cache): the counts do not measure
  // the work then.
  bool exact = true;

  // The least time that the ceilings allow; 0 if unknown.
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
