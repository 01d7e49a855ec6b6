// Runs carved calls on a session, each as often as it is wanted.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/call_point.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// What is only read stays on the session between the runs, up to kMostKept bytes of it. Nothing of
// it may be left when the session ends: forget() it then.
class CallRunner {
 public:
  static constexpr int64_t kMostKept = int64_t{256} << 20;

  // `suite` outlives it, and so does the runner up to the next forget().
  explicit CallRunner(const Suite& suite) : suite_(suite) {}

  // Enqueues the suite's call. Outputs hold garbage before.
  Status enqueue(size_t call, runtime::KernelRunner& runner);
  // The same, and reads its outputs: one per out or inout parameter. `out_of_bounds_writes`, where
  // given, is reported what was written around them.
  Result<std::vector<HostTensor>> run(size_t call, runtime::KernelRunner& runner,
                                      std::string* out_of_bounds_writes);
  // Adds to `out_of_bounds_writes` what was written of the inputs that are on the session, and
  // around them, or of what had to make room: of one of them. `call`: the first that read it.
  Status check_kept(std::string& out_of_bounds_writes, size_t& call);

  void forget();

 private:
  // An input, by the call that read it first.
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
  std::string out_of_bounds_writes_;        // of what had to make room
  size_t out_of_bounds_call_ = 0;
};

// The arguments of the suite's call on `session`, one a parameter: inputs as they were, outputs
// that hold garbage, each with memory around it that is watched.
Result<std::vector<runtime::Tensor>> make_arguments(const Suite& suite, size_t call,
                                                    runtime::Session& session);
// Outputs of the suite's call on `runner`, one per out or inout parameter. `strayed`, where given,
// is reported what else was written: the memory around the tensors ("64 bytes behind y") and the
// inputs
// ("4 bytes of x").
Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t call,
                                         runtime::KernelRunner& runner,
                                         std::string* out_of_bounds = nullptr);

}  // namespace tapml::topdown
