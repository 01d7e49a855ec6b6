#include "topdown/results/speed_table.h"

#include <algorithm>

namespace tapml::topdown {

double SpeedTable::launch_seconds() const {
  const auto fastest = std::ranges::min_element(kernels, {}, &KernelSpeed::seconds);
  return fastest == kernels.end() ? 0 : fastest->seconds;
}

double SpeedTable::excess(const KernelSpeed& kernel) const {
  const double least = kernel.work.least_seconds(ceilings);
  return least > 0 ? kernel.seconds / (least + launch_seconds()) : 0;
}

void flag_slow(SpeedTable& table) {
  std::vector<double> known;
  for (const KernelSpeed& kernel : table.kernels) {
    if (const double excess = table.excess(kernel); excess > 0) known.push_back(excess);
  }
  if (known.empty()) return;
  const auto middle = known.begin() + std::ssize(known) / 2;
  std::ranges::nth_element(known, middle);
  const double limit = kSlowExcess * std::max(1.0, *middle);
  for (KernelSpeed& kernel : table.kernels) kernel.slow = table.excess(kernel) > limit;
}

}  // namespace tapml::topdown
