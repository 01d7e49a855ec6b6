// Captures the inputs and outputs of a run's calls. The plan is data, so it can be sent to a remote
// VM; an observer beside the VM captures, and a sink, local or at the other end, takes the results.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct CapturePlan {
  // Kernel indices in the executable's table; empty: all of them.
  std::vector<int32_t> kernels;
  // Number of calls to keep per kernel, function and combination of scalars (0: all of them). For
  // the others only the presence of NaN is recorded.
  int64_t calls = 0;
};

// UserError for kernels that the executable lacks, and for a negative number of calls.
Status check_plan(const Executable& executable, const CapturePlan& plan) noexcept;

// Whether a float tensor has NaN; false for other dtypes.
bool any_nan(const HostTensor& tensor);

struct CapturedCall {
  int32_t site = 0;  // index of the call site in the executable
  int64_t sequence = 0;
  std::vector<int64_t> scalars;
  bool kept = true;  // if false, there are no hashes
  // By parameter: content_hash() of the tensor that the call read and wrote; empty if it did not.
  std::vector<std::string> before, after;
  // By parameter: whether that tensor had NaN. For a call that is not kept, inputs are checked only
  // if an output has NaN.
  std::vector<bool> nan_before, nan_after;
};

// Receives the captured calls. Not thread-safe.
class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  // Whether it has the content already.
  virtual bool has(const std::string& hash) noexcept = 0;
  // A content that later calls name by its hash. `borrowed`: its bytes may change after the return.
  virtual Status content(const std::string& hash, const HostTensor& tensor,
                         bool borrowed) noexcept = 0;
  // Everything that the call names was passed before, or is already held.
  virtual Status call(CapturedCall call) noexcept = 0;
  // For a remote VM, which tracks the contents of the sink: the initial ones, and, asked between
  // two runs, the dropped ones. Contents that the sink drops during a run stay until its end.
  virtual std::vector<std::string> held() noexcept { return {}; }
  virtual std::vector<std::string> take_dropped() noexcept { return {}; }
};

// Observes a call point for a sink. It only reads, so it does not change the results of the run.
// Tensors, above all weights, are read again only after a write.
class CaptureObserver final : public Observer {
 public:
  // All arguments must outlive it.
  CaptureObserver(const Executable& executable, CapturePlan plan, CaptureSink& sink);

  bool wants(const CallSite& site, int64_t sequence) noexcept override;
  Status before(const KernelCall& call) noexcept override;
  Status after(const KernelCall& call) noexcept override;

 private:
  // The location of a tensor in memory.
  struct Place {
    uint64_t storage = 0;
    int64_t offset = 0;
    DType dtype = DType::kF32;
    Extents shape;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const noexcept;
  };
  // What is known of a location since it was last read or checked.
  struct Known {
    uint64_t version = 0, generation = 0;  // of its storage and of its session
    std::string hash;                      // empty: only checked
    bool looked = false, has_nan = false;
  };
  Known& known(const Tensor& tensor);
  static bool is_same(const Known& known, const Tensor& tensor);
  Status keep(const Tensor& tensor, std::string& hash, bool& nan);
  Status look(const Tensor& tensor, bool& nan);
  bool counts_in(const KernelCall& call);

  const Executable& executable_;
  const CapturePlan plan_;
  const std::set<int32_t> kernels_;
  CaptureSink& sink_;
  std::map<std::string, int64_t> seen_;  // calls by kernel, function and scalars
  CapturedCall current_;
  std::unordered_map<Place, Known, PlaceHash> known_;
};

}  // namespace tapml::runtime
