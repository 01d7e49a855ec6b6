// Runs an operator's reference.
#pragma once

#include <utility>
#include <vector>

#include "op/operator.h"

namespace tapml::op::testing {

// `ints` follow the tensors; `outputs` start as zeros.
inline std::vector<RefTensor> run_reference(const char* op, const std::vector<RefTensor>& tensors,
                                            std::vector<RefTensor> outputs,
                                            const AttrMap& attrs = {},
                                            const std::vector<std::vector<int64_t>>& ints = {}) {
  std::vector<RefArg> args;
  for (const RefTensor& tensor : tensors) args.push_back({&tensor, {}});
  for (const std::vector<int64_t>& list : ints) args.push_back({nullptr, list});
  find_operator(op)->reference(attrs, args, outputs);
  return outputs;
}

}  // namespace tapml::op::testing
