#include <algorithm>

#include "analysis/cost.h"
#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "text/parser.h"
#include "topdown/profile/ceilings.h"

namespace tapml::topdown {

double CallWork::least_seconds(const Ceilings& ceilings) const {
  if (!exact || ceilings.flops_per_s <= 0 || ceilings.bytes_per_s <= 0) return 0;
  return std::max(flops / ceilings.flops_per_s, bytes / ceilings.bytes_per_s);
}

KernelWork::KernelWork(const KernelInfo& kernel) {
  try {
    const Module module = text::parse(kernel.spec, kernel.name);
    const tir::PrimFunc& func = passes::kernel_implementation(module, kernel.name);
    const analysis::Cost cost = analysis::cost_of(func);
    flops_ = arith::compile_scalar(cost.flops, func.scalars);
    bytes_ = arith::compile_scalar(cost.bytes, func.scalars);
    exact_ = cost.exact;
  } catch (const CompilerException&) {
    // Work is unknown if it is not an integer program of the scalars.
    flops_ = bytes_ = {};
  }
}

CallWork KernelWork::of(std::span<const int64_t> scalars) const {
  CallWork work;
  const Result<int64_t> flops = evaluate(flops_, scalars);
  const Result<int64_t> bytes = evaluate(bytes_, scalars);
  work.exact = exact_ && flops && bytes;
  if (flops) work.flops = static_cast<double>(*flops);
  if (bytes) work.bytes = static_cast<double>(*bytes);
  return work;
}

}  // namespace tapml::topdown
