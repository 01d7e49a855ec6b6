// Selects the calls of a kernel that differ most from the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// A summary of a tensor's values, on logarithmic scales: one unit is a factor of two.
struct TensorSummary {
  double magnitude = 0;            // of the root mean square of the finite values
  double lowest = 0, highest = 0;  // relative to that, signed
  double special = 0;              // whether there are NaNs or infinities
};
TensorSummary summarize(const HostTensor& tensor);

// Calls under a budget of bytes. Tensors that several calls name count once.
class CallSelection {
 public:
  struct Tensor {
    std::string hash;
    Shape shape;
    TensorSummary summary;
    int64_t bytes = 0;  // 0: not stored in the suite
  };
  // `id` is new. Calls are compared within their kernel, by scalars, shapes and summaries.
  void add(int64_t id, const SuiteCall& call, const std::vector<Tensor>& tensors);
  int64_t bytes() const { return bytes_; }

  // The call that is worth least for its bytes; -1 if every kernel is down to one call. It has the
  // smallest distance to its nearest neighbor of the same kernel, divided by its bytes (a shared
  // tensor counts in part); of two equal ones, the later.
  int64_t least() const;
  // Removes the call, and returns the hashes that no call names any more.
  std::vector<std::string> remove(int64_t id);

 private:
  struct Call {
    int32_t kernel = 0;
    std::vector<double> features;
    std::vector<size_t> tensors;  // without repetition
    double nearest = 0;           // distance to the nearest other call of the kernel
    int64_t nearest_id = -1;      // -1: there is no other
  };
  struct Held {
    std::string hash;
    int64_t bytes = 0, uses = 0;
  };
  void find_nearest(int64_t id, Call& call) const;

  std::map<int64_t, Call> calls_;
  std::map<int32_t, std::vector<int64_t>> by_kernel_;
  std::vector<Held> held_;
  std::map<std::string, size_t> number_;  // of a tensor in held_
  int64_t bytes_ = 0;
};

// Keeps at most `calls` (0: all) calls of a kernel with the same scalars and function, and, within
// `budget` bytes (0: no limit), those that differ most. Counts the removed calls in `dropped` of
// the kernels, and removes tensors that no call names any more. Always keeps one call of every
// kernel. Groups of the same kernels are selected like the calls of one kernel.
void prune(Suite& suite, int64_t calls, int64_t budget);
// Keeps the calls of some kernels (by number) and the groups that contain them, with the other
// kernels that these groups need.
void keep_kernels(Suite& suite, const std::set<int32_t>& wanted);
// A suite of the kernel of `call` and that call alone.
Suite one_call(const Suite& suite, size_t call);
// Removes tensors that no test names.
void drop_unnamed(Suite& suite);

}  // namespace tapml::topdown
