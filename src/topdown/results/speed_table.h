// How fast kernels are on a target, beside what the device reaches at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topdown/profile/ceilings.h"

namespace tapml::topdown {

// Of a kernel's largest carved call.
struct KernelSpeed {
  std::string kernel;
  int64_t sequence = -1;  // of the call in the run
  double seconds = 0;     // of a launch among others
  CallWork work;
  bool slow = false;  // flag_slow()

  // Of what the ceilings allow; 0 where it is not known.
  double share(const Ceilings& ceilings) const {
    return seconds > 0 ? work.least_seconds(ceilings) / seconds : 0;
  }
};

struct SpeedTable {
  Ceilings ceilings;
  std::vector<KernelSpeed> kernels;
  std::string failure;  // why kernels are missing that should be there

  // What a launch costs at least: the fastest kernel's. 0 for an empty table.
  double launch_seconds() const;
  // The time over what a launch and the kernel's work need at least; 0 where that is not known.
  double excess(const KernelSpeed& kernel) const;
};

// A kernel is slow whose excess is this many times that of the median kernel.
inline constexpr double kSlowExcess = 4;
void flag_slow(SpeedTable& table);

}  // namespace tapml::topdown
