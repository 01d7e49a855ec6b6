// Test carving (TapML 2025, section 3.2): what every kernel call read and wrote becomes a test.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "runtime/capture.h"
#include "runtime/local_virtual_machine.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::topdown {

struct CarveOptions {
  // Calls of one kernel that are kept for each combination of its scalars and function (0: all of
  // them).
  int64_t calls_per_kernel = 0;
  // Names of those whose calls are carved, at least one of the executable's; empty: all of them.
  std::set<std::string> kernels;
  // Functions of the executable that the runs may call: the suite says which of their kernels it
  // has no call of. Empty: nothing is known of that.
  std::vector<std::string> functions;
  // Bytes of tensors that the suite may have (0: no limit): of each kernel the calls are kept that
  // differ most (CallSelection), one in any case.
  int64_t budget_bytes = 0;
  // Where tensors go at once, so that memory holds none; null: they stay in the suite. It outlives
  // the carver.
  SuiteFolder* folder = nullptr;
  // By name: tensors with the bytes of one of these are kept as a reference to it; null: the suite
  // has all tensors. They outlive the suite. `model_folder` is where they came from, and
  // `quantization` how they were quantized then (Suite).
  const std::map<std::string, HostTensor>* weights = nullptr;
  std::string model_folder, quantization;
  // Tensors whose bytes a machine elsewhere need not send back: what it was given. By name; null:
  // none. They outlive the suite.
  const std::map<std::string, HostTensor>* held = nullptr;
};

// Makes a suite of what a run reads and writes. As an observer it is attached to a VM's call point,
// while the run to carve goes on; as a sink it takes what any machine captures
// (VirtualMachine::set_capture). The run computes the same bits with and without it.
class Carver : public runtime::Observer, public runtime::CaptureSink {
 public:
  // The executable outlives the carver.
  Carver(const Executable& executable, const CarveOptions& options);
  explicit Carver(const Executable& executable, int64_t calls_per_kernel = 0);

  // What a machine is to capture for it.
  const runtime::CapturePlan& plan() const { return plan_; }

  bool wants(const runtime::CallSite& site, int64_t sequence) noexcept override {
    return observer_.wants(site, sequence);
  }
  Status before(const runtime::KernelCall& call) noexcept override {
    return observer_.before(call);
  }
  Status after(const runtime::KernelCall& call) noexcept override { return observer_.after(call); }

  bool has(const std::string& hash) noexcept override;
  Status content(const std::string& hash, const HostTensor& tensor,
                 bool borrowed) noexcept override;
  Status call(runtime::CapturedCall call) noexcept override;
  std::vector<std::string> held() noexcept override;
  std::vector<std::string> take_dropped() noexcept override;

  // Without tensors where these went to a folder. Kernels of which no call ended are left out.
  // `incomplete`: why the runs ended early; empty: they did not.
  Suite take(const std::string& incomplete = "");
  // What take() would say now, without letting go of it.
  Suite so_far(const std::string& incomplete) const;
  const Suite& suite() const { return suite_; }
  // Different tensors that the suite's calls name, and their bytes, without weights by reference.
  int64_t tensors() const { return std::ssize(kept_tensors_); }
  int64_t bytes() const { return bytes_; }
  const std::optional<SourceNaN>& nan() const { return nan_; }

 private:
  // What is known of the content of a tensor.
  struct Content {
    Shape shape;
    int64_t bytes = 0;
    std::optional<TensorSummary> summary;  // where there is a budget
  };
  bool in_suite(const std::string& hash) const {
    return suite_.weights.contains(hash) || kept_tensors_.contains(hash);
  }
  Status take_content(const std::string& hash, const HostTensor& tensor, bool borrowed);
  Status take_call(runtime::CapturedCall& captured);
  // A content that a call names is in the suite from then on.
  Status name(const std::string& hash);
  Status commit(SuiteCall call);
  Status drop(int64_t sequence);
  SuiteCall& call_at(int64_t sequence);
  void note_nan(const KernelInfo& info, const Origin& origin,
                const runtime::CapturedCall& captured);
  Status store(const std::string& hash, const HostTensor& tensor);
  int32_t suite_kernel(int32_t kernel);
  std::vector<KernelUse> untested(const Suite& suite) const;

  const Executable& executable_;
  Suite suite_;
  CarveOptions options_;
  runtime::CapturePlan plan_;
  std::map<std::string, std::string> weight_of_;          // name by content hash
  std::unordered_map<int32_t, int32_t> kernel_of_;        // in the suite, by that of the executable
  std::unordered_map<std::string, int64_t> sequence_of_;  // of the kept call with a test_key()
  std::unordered_map<std::string, Content> contents_;     // by hash
  std::unordered_map<std::string, int64_t> kept_tensors_;
  int64_t bytes_ = 0;
  CallSelection selection_;
  std::optional<SourceNaN> nan_;
  // Of a machine elsewhere: contents that are here from the start, and those that no call names any
  // more, until the run is over; in the folder where there is one.
  std::map<std::string, HostTensor> held_;
  std::map<std::string, HostTensor> lingering_;
  bool lingers_ = false;
  Status failed_;  // to let go of them
  runtime::CaptureObserver observer_;
};

}  // namespace tapml::topdown
