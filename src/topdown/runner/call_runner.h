// Runs carved calls on a session, each as often as needed.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/call_point.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Inputs that are only read stay on the session between the runs, up to kMostKept bytes. Call
// forget() before the session ends.
class CallRunner {
 public:
  static constexpr int64_t kMostKept = int64_t{256} << 20;

  // `suite` outlives it, and so do the KernelRunners until the next forget().
  explicit CallRunner(const Suite& suite) : suite_(suite) {}

  // Enqueues the suite's call. Its outputs hold garbage before it runs.
  Status enqueue(size_t call, runtime::KernelRunner& runner);
  // The same, and reads the outputs: one per out or inout parameter. Appends writes around them to
  // `out_of_bounds_writes`, if given.
  Result<std::vector<HostTensor>> run(size_t call, runtime::KernelRunner& runner,
                                      std::string* out_of_bounds_writes);
  // Appends to `out_of_bounds_writes` writes into and around one of the inputs that are, or were,
  // kept on the session. `call`: the first that read it.
  Status check_kept(std::string& out_of_bounds_writes, size_t& call);

  void forget();

 private:
  // An input, with the call that read it first.
  struct Kept {
    runtime::Tensor tensor;
    size_t call = 0, param = 0;
  };
  using Key = std::pair<std::string, size_t>;  // content hash, parameter

  Status make_arguments(size_t call, runtime::Session& session);
  Status check(const Kept& kept, std::string& out_of_bounds_writes) const;

  const Suite& suite_;
  std::map<Key, Kept> kept_;
  int64_t kept_bytes_ = 0;
  std::vector<runtime::Tensor> arguments_;  // of the last call
  std::string out_of_bounds_writes_;        // of evicted inputs
  size_t out_of_bounds_call_ = 0;
};

// The arguments of the suite's call on `session`, one per parameter: carved inputs, and outputs
// that hold garbage, each between watched memory.
Result<std::vector<runtime::Tensor>> make_arguments(const Suite& suite, size_t call,
                                                    runtime::Session& session);
// Outputs of the suite's call on `runner`, one per out or inout parameter. Appends other writes to
// `out_of_bounds`, if given: around the tensors ("64 bytes after y") and into the inputs ("4 bytes
// of x").
Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t call,
                                         runtime::KernelRunner& runner,
                                         std::string* out_of_bounds = nullptr);

}  // namespace tapml::topdown
