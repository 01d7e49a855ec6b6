// Test carving (TapML 2025, section 3.2): the inputs and outputs of every kernel call become a
// test.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <unordered_map>

#include "llm/engine.h"
#include "runtime/capture.h"
#include "runtime/local_virtual_machine.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::topdown {

struct CarveOptions {
  // Calls to keep per kernel for each combination of its scalars and function (0: all of them).
  int64_t calls_per_kernel = 0;
  // Kernels whose calls are carved, at least one of the executable's; empty: all.
  std::set<std::string> kernels;
  // Functions of the executable that the runs may call, so that the suite can list their kernels
  // without tests. Empty: unknown.
  std::vector<std::string> functions;
  // The suite's limit in bytes of tensors (0: none). Keeps the calls of each kernel that differ
  // most (CallSelection), at least one.
  int64_t budget_bytes = 0;
  // Receives tensors at once, so that memory holds none; null: they stay in the suite. Outlives the
  // carver.
  SuiteFolder* folder = nullptr;
  // By name: a tensor with the bytes of one of these is kept as a reference to it; null: the suite
  // has all tensors. They outlive the suite. `model_folder` is where they came from, and
  // `quantization` how they were quantized (Suite).
  const std::map<std::string, HostTensor>* weights = nullptr;
  std::string model_folder, quantization;
  // Tensors that a remote VM was given, whose bytes it need not send back. By name; null: none.
  // They outlive the suite.
  const std::map<std::string, HostTensor>* held = nullptr;
  // For a run with a fragmented cache (llm::EngineOptions): the model's weights, by name. NaN in
  // another input then come from rows of the cache that hold no token, and are none of the
  // source's. Null: the cache is not fragmented.
  const std::map<std::string, HostTensor>* fragmented = nullptr;
};

// Makes a suite of what a run reads and writes. As an observer it is attached to a VM's call point
// during the run; as a sink it takes what any VM captures (VirtualMachine::set_capture). The run
// computes the same bits with and without it.
class Carver : public runtime::Observer, public runtime::CaptureSink {
 public:
  // The executable outlives the carver.
  Carver(const Executable& executable, const CarveOptions& options);
  explicit Carver(const Executable& executable, int64_t calls_per_kernel = 0);

  // What a VM has to capture for the carver.
  const runtime::CapturePlan& plan() const { return plan_; }
  // The same for calls that carving adds, and begins them: they are marked (SuiteCall::added), at
  // most two of a kernel are kept for each combination of its scalars and function, and their NaN
  // are none of the source's.
  runtime::CapturePlan begin_added();

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

  // Has no tensors if these went to a folder. Omits kernels of which no call ended. `incomplete`:
  // why the runs ended early; empty: they are complete.
  Suite take(const std::string& incomplete = "");
  // What take() would return now; the carver keeps its state.
  Suite so_far(const std::string& incomplete) const;
  const Suite& suite() const { return suite_; }
  // Distinct tensors that the suite's calls name, and their bytes, without weights by reference.
  int64_t tensors() const { return std::ssize(kept_tensors_); }
  int64_t bytes() const { return bytes_; }
  const std::optional<SourceNaN>& nan() const { return nan_; }

 private:
  // What is known of a tensor's content.
  struct Content {
    Shape shape;
    int64_t bytes = 0;
    std::optional<TensorSummary> summary;  // with a budget
  };
  bool in_suite(const std::string& hash) const {
    return suite_.weights.contains(hash) || kept_tensors_.contains(hash);
  }
  Status take_content(const std::string& hash, const HostTensor& tensor, bool borrowed);
  Status take_call(runtime::CapturedCall& captured);
  // Enters a content that a call names into the suite.
  Status name(const std::string& hash);
  Status commit(SuiteCall call);
  Status drop(int64_t sequence);
  SuiteCall& call_at(int64_t sequence);
  void note_nan(const KernelInfo& info, const Origin& origin,
                const runtime::CapturedCall& captured);
  // Whether the call's NaN come from unused rows of the cache.
  bool passes_poison(const runtime::CapturedCall& captured);
  Status store(const std::string& hash, const HostTensor& tensor);
  int32_t suite_kernel(int32_t kernel);
  std::vector<KernelUse> untested(const Suite& suite) const;

  const Executable& executable_;
  bool adding_ = false;
  Suite suite_;
  CarveOptions options_;
  runtime::CapturePlan plan_;
  std::map<std::string, std::string> weight_of_;          // name by content hash
  std::unordered_map<int32_t, int32_t> kernel_of_;        // index in the suite, by the executable's
  std::unordered_map<std::string, int64_t> sequence_of_;  // of the kept call, by test_key()
  std::unordered_map<std::string, Content> contents_;     // by hash
  std::unordered_map<std::string, int64_t> kept_tensors_;
  int64_t bytes_ = 0;
  CallSelection selection_;
  std::optional<SourceNaN> nan_;
  std::optional<std::set<std::string>> nan_weights_;  // hashes; made when it is first asked for
  // Contents of a remote VM: those held from the start, and those that no call names any more,
  // until the run is over; in the folder if there is one.
  std::map<std::string, HostTensor> held_;
  std::map<std::string, HostTensor> lingering_;
  bool lingers_ = false;
  Status failed_;  // an error while releasing them
  runtime::CaptureObserver observer_;
};

// Carves the calls of `run` on the VM in addition to those so far. The VM has no capture of its
// own.
Status carve_added(runtime::VirtualMachine& vm, Carver& carver, const std::function<Status()>& run);
// The same of a batch of texts of different lengths (llm::Engine::run_mixed_batch). The engine has
// a text.
Status carve_mixed_batch(llm::Engine& engine, Carver& carver);

}  // namespace tapml::topdown
