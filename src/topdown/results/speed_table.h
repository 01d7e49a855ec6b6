// The speed of kernels on a target, compared with what the device can reach.
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
  double seconds = 0;     // of one launch in a batch
  CallWork work;
  bool slow = false;  // flag_slow()

  // The fraction of what the ceilings allow; 0 if unknown.
  double share(const Ceilings& ceilings) const {
    return seconds > 0 ? work.least_seconds(ceilings) / seconds : 0;
  }
};

struct SpeedTable {
  Ceilings ceilings;
  std::vector<KernelSpeed> kernels;
  std::string failure;  // why some kernels are missing

  // The minimal cost of a launch: the time of the fastest kernel. 0 for an empty table.
  double launch_seconds() const;
  // The time divided by the least that a launch and the kernel's work need; 0 if that is unknown.
  double excess(const KernelSpeed& kernel) const;
};

// A kernel is slow if its excess is this many times that of the median kernel.
inline constexpr double kSlowExcess = 4;
void flag_slow(SpeedTable& table);

}  // namespace tapml::topdown
