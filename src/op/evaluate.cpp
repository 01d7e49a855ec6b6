#include "op/evaluate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapml::op {

namespace {

// Rules add the random errors of different elements as squares, which is too little for elements
// that share them.
std::vector<RefTensor> with_bounds_only(std::span<const RefArg> args) {
  std::vector<RefTensor> tensors;
  for (const RefArg& arg : args) {
    if (arg.tensor == nullptr || arg.tensor->correlated <= 1) continue;
    RefTensor& tensor = tensors.emplace_back(*arg.tensor);
    tensor.systematic = tensor.deviation = {};
    tensor.correlated = 1;
  }
  return tensors;
}

// The bound of a NaN or an infinity follows from arithmetic with it, and says nothing.
void settle_non_finite(RefTensor& out) {
  if (!is_float(out.dtype) || out.bound.is_computed() || out.bound.all_zero()) return;
  for (size_t i = 0; i < out.values.size(); ++i) {
    if (!std::isinf(out.bound[i]) || std::isfinite(out.values[i])) continue;
    const bool open = !out.systematic.empty() && out.systematic[i] == 0 && out.deviation[i] == 0;
    if (open) continue;
    for (RefBounds* part : {&out.bound, &out.systematic, &out.deviation}) {
      if (!part->empty()) part->set(i, 0);
    }
  }
}

}  // namespace

void evaluate(const OperatorInfo& info, const AttrMap& attrs, std::span<const RefArg> args,
              std::span<RefTensor> outputs) {
  const std::vector<RefTensor> bounded = with_bounds_only(args);
  std::vector<RefArg> replaced(args.begin(), args.end());
  size_t next = 0;
  bool exact = true;
  for (RefArg& arg : replaced) {
    if (arg.tensor == nullptr) continue;
    if (arg.tensor->correlated > 1) arg.tensor = &bounded[next++];
    exact = exact && arg.tensor->bound.all_zero();
  }
  for (RefTensor& out : outputs) out.correlated = 1;
  info.reference(attrs, replaced, outputs);
  if (!exact) return;
  for (RefTensor& out : outputs) settle_non_finite(out);
}

}  // namespace tapml::op
