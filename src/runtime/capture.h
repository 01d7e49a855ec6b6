// What a run reads and writes, call by call: what to keep is data, so that it may travel to a
// machine elsewhere; an observer keeps it there, and a sink takes it, here or at the other end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct CapturePlan {
  // Numbers in the executable's table; empty: all of them.
  std::vector<int32_t> kernels;
  // Calls of one kernel that are kept for each combination of its scalars and function (0: all of
  // them). Of the others it is only noted where they had NaN.
  int64_t calls = 0;
};

// UserError for kernels that the executable has not, and a negative number of calls.
Status check_plan(const Executable& executable, const CapturePlan& plan) noexcept;

struct CapturedCall {
  int32_t site = 0;  // number of the call site in the executable
  int64_t sequence = 0;
  std::vector<int64_t> scalars;
  bool kept = true;  // else there are no hashes
  // By parameter: content_hash() of what the call read and wrote; empty for what it did not.
  std::vector<std::string> before, after;
  // By parameter: whether that had NaN. Of a call that is not kept inputs count only where an
  // output has NaN.
  std::vector<bool> nan_before, nan_after;
};

// Takes what is captured. Not from several threads at once.
class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  // Whether it has the content, and need not be given it.
  virtual bool has(const std::string& hash) noexcept = 0;
  // A content that calls after this name. `borrowed`: its bytes may be others once this returns.
  virtual Status content(const std::string& hash, const HostTensor& tensor,
                         bool borrowed) noexcept = 0;
  // Everything that it names was given, or is had.
  virtual Status call(CapturedCall call) noexcept = 0;
  // For a machine elsewhere, which remembers what the sink has: what that is at first, and, asked
  // between two runs, what of it is gone. What the sink lets go of in a run it has until then.
  virtual std::vector<std::string> held() noexcept { return {}; }
  virtual std::vector<std::string> take_dropped() noexcept { return {}; }
};

// Observes a call point for a sink. It only reads: the run computes the same bits with and without
// it. Tensors that have not been written since are not read again: weights above all.
class CaptureObserver final : public Observer {
 public:
  // All of them outlive it.
  CaptureObserver(const Executable& executable, CapturePlan plan, CaptureSink& sink);

  bool wants(const CallSite& site, int64_t sequence) noexcept override;
  Status before(const KernelCall& call) noexcept override;
  Status after(const KernelCall& call) noexcept override;

 private:
  // A tensor as it lies in memory; its bytes are another matter.
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
  // What a place held when it was last read, or looked at.
  struct Known {
    uint64_t version = 0, generation = 0;  // of its storage, of its session
    std::string hash;                      // empty: only looked at
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
