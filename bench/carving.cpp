#include "carving.h"

#include "topdown/suite/carve.h"

namespace tapml::bench {

CarvingCost carving_cost(const Executable& executable, runtime::CallPoint& calls,
                         const std::function<double()>& run) {
  CarvingCost cost;
  const double plain = run();
  topdown::Carver carver(executable);
  calls.set_observer(&carver);
  cost.seconds = run() - plain;
  calls.set_observer(nullptr);
  const topdown::Suite& suite = carver.suite();
  double bytes = 0;
  for (const auto& [hash, tensor] : suite.tensors) bytes += static_cast<double>(tensor.byte_size());
  cost.over_bound = cost.seconds / (20e-6 * static_cast<double>(suite.calls.size()) + 1e-9 * bytes);
  return cost;
}

}  // namespace tapml::bench
