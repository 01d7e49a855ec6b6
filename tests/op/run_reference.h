// Runs an operator's reference.
#pragma once

#include <utility>
#include <vector>

#include "op/evaluate.h"

namespace tapml::op::testing {

// `ints` follow the tensors; `outputs` start as zeros. Attributes that are absent have their
// defaults, as in a call.
inline std::vector<RefTensor> run_reference(const char* op, const std::vector<RefTensor>& tensors,
                                            std::vector<RefTensor> outputs,
                                            const AttrMap& attrs = {},
                                            const std::vector<std::vector<int64_t>>& ints = {}) {
  std::vector<RefArg> args;
  for (const RefTensor& tensor : tensors) args.push_back({&tensor, {}});
  for (const std::vector<int64_t>& list : ints) args.push_back({nullptr, list});
  const OperatorInfo& info = *find_operator(op);
  evaluate(info, with_defaults(info, attrs), args, outputs);
  return outputs;
}

}  // namespace tapml::op::testing
