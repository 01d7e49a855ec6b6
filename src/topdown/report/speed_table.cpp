#include "topdown/report/speed_table.h"

#include <algorithm>

#include "base/units.h"
#include "topdown/report/html.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

namespace {

std::string format(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// Whether the kernel is closer to the ceiling of arithmetic than to that of memory.
bool computes(const KernelSpeed& kernel, const Ceilings& ceilings) {
  return kernel.work.flops / ceilings.flops_per_s > kernel.work.bytes / ceilings.bytes_per_s;
}

std::string rate_text(const KernelSpeed& kernel, const Ceilings& ceilings) {
  return computes(kernel, ceilings)
             ? format("%.2f GFLOP/s", 1e-9 * kernel.work.flops / kernel.seconds)
             : format("%.2f GB/s", 1e-9 * kernel.work.bytes / kernel.seconds);
}

std::vector<const KernelSpeed*> slowest_first(const SpeedTable& speed) {
  std::vector<const KernelSpeed*> order;
  for (const KernelSpeed& kernel : speed.kernels) order.push_back(&kernel);
  std::ranges::stable_sort(order, std::greater<>(), &KernelSpeed::seconds);
  return order;
}

std::string name_cell(const std::string& name, const std::vector<PageKernel>& kernels) {
  const std::string code = element("code", escaped(name));
  const auto it = std::ranges::find(kernels, name, &PageKernel::name);
  if (it == kernels.end()) return code;
  const auto index = static_cast<size_t>(it - kernels.begin());
  return element("a", {{"href", "#" + kernel_anchor(index)}}, code);
}

}  // namespace

std::string speed_table(const SpeedTable& speed, const std::vector<PageKernel>& kernels) {
  const std::string failure =
      speed.failure.empty() ? ""
                            : element("p", "Not all could be timed: " + escaped(speed.failure));
  if (speed.kernels.empty()) return failure;
  const Ceilings& ceilings = speed.ceilings;
  std::string rows;
  for (const KernelSpeed* kernel : slowest_first(speed)) {
    const double excess = speed.excess(*kernel);
    const std::string mark =
        kernel->slow ? " " + element("span", {{"class", "chip hybrid"}}, "slow") : "";
    rows += table_row({name_cell(kernel->kernel, kernels) + mark, std::to_string(kernel->sequence),
                       time_text(kernel->seconds),
                       excess > 0 ? rate_text(*kernel, ceilings) : "unknown",
                       excess > 0 ? format("%.1f%%", 100 * kernel->share(ceilings)) : "",
                       excess > 0 ? format("%.1f", excess) : ""});
  }
  return failure +
         element(
             "p",
             "Each kernel's largest carved call, launched repeatedly. The device reaches " +
                 format("%.1f GFLOP/s", 1e-9 * ceilings.flops_per_s) + " and " +
                 format("%.1f GB/s", 1e-9 * ceilings.bytes_per_s) + " here; a launch takes " +
                 time_text(speed.launch_seconds()) +
                 " at least. Excess is the time divided by the least that work and launch need; a "
                 "kernel is slow if its excess is " +
                 format("%.0f", kSlowExcess) + " times that of the median kernel.") +
         table({"kernel", "call", "a launch", "reaches", "of the ceiling", "excess"}, rows,
               "kernels");
}

std::string slow_text(const SpeedTable& speed, const std::string& target) {
  std::string slow;
  for (const KernelSpeed* kernel : slowest_first(speed)) {
    if (!kernel->slow) continue;
    slow += (slow.empty() ? "" : ", ") + kernel->kernel + " (" +
            rate_text(*kernel, speed.ceilings) + ", " +
            format("%.1f%%", 100 * kernel->share(speed.ceilings)) + " of the ceiling)";
  }
  std::string text;
  if (!speed.kernels.empty()) text = "slow on " + target + ": " + (slow.empty() ? "none" : slow);
  if (!speed.failure.empty()) {
    text += (text.empty() ? "" : "\n") + ("not timed on " + target + ": " + speed.failure);
  }
  return text;
}

}  // namespace tapml::topdown
