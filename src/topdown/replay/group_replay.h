// Kernels that are judged together, because nothing says what is right between them: a trusted
// source that is no platform of tapml (PyTorch) knows the borders of its own modules only.
#pragma once

#include <vector>

#include "topdown/replay/replay.h"

namespace tapml::topdown {

// A tensor parameter of one of the suite's calls.
struct CallParam {
  size_t call = 0;   // index into the suite's calls
  size_t param = 0;  // index into the kernel's parameters
  bool operator==(const CallParam&) const = default;
};

struct GroupTensor {
  CallParam place;
  HostTensor tensor;  // of the dtype and shape that the suite has there
};

// What a call of the group reads of what an earlier one wrote; the number of bytes is the same.
struct GroupLink {
  CallParam to, from;
};

struct JoinedCalls {
  std::vector<size_t> calls;         // in the order in which they run
  std::vector<GroupTensor> inputs;   // in the place of what was carved
  std::vector<GroupLink> links;      // all else is as carved: weights, page tables, caches
  std::vector<GroupTensor> outputs;  // what the trusted source has there
};

// Runs the group in the sandbox, each call with what the ones before it computed there. The judge
// evaluates it in the same way, its bounds running from call to call; inputs are exact. The
// verdict's source is the trusted one, its kernel the names of all, joined by " + ". UserError for
// tensors that do not fit the calls. A crash and a hang are verdicts.
Result<KernelVerdict> replay_group(const Suite& suite, Judge& judge, const JoinedCalls& group,
                                   Sandbox& sandbox);

// A suite of some of the calls, each with other tensors: tests as if `source` had been carved.
// UserError for tensors that do not fit. Tensors may be inputs and outputs of several calls.
Suite with_tensors(const Suite& suite, const std::vector<size_t>& calls,
                   const std::vector<GroupTensor>& inputs, const std::vector<GroupTensor>& outputs,
                   const std::string& source);

}  // namespace tapml::topdown
