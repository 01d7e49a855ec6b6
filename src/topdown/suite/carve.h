// Test carving (TapML 2025, section 3.2): an observer that keeps what every kernel call read and
// wrote.
#pragma once

#include <optional>
#include <unordered_map>

#include "runtime/vm.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"
#include "topdown/suite/suite_folder.h"

namespace tapml::topdown {

struct CarveOptions {
  // Calls of one kernel that are kept for each combination of its scalars and function (0: all of
  // them).
  int64_t calls_per_kernel = 0;
  // Bytes of tensors that the suite may have (0: no limit): of each kernel the calls are kept that
  // differ most (CallSelection), one in any case.
  int64_t budget_bytes = 0;
  // Where tensors go at once, so that memory holds none; null: they stay in the suite. It outlives
  // the carver.
  SuiteFolder* folder = nullptr;
  // By name: tensors with the bytes of one of these are kept as a reference to it; null: the suite
  // has all tensors. They outlive the suite. `model_folder` is where they came from.
  const std::map<std::string, HostTensor>* weights = nullptr;
  std::string model_folder;
};

// Attached to a VM's call point while the run to carve goes on. It only reads: the run computes the
// same bits with and without it.
class Carver : public runtime::Observer {
 public:
  Carver(const Executable& executable, const CarveOptions& options);
  explicit Carver(const Executable& executable, int64_t calls_per_kernel = 0);

  bool wants(const runtime::CallSite& site, int64_t sequence) noexcept override;
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;

  // Without tensors where these went to a folder.
  // Kernels of which no call ended are left out.
  Suite take();
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
    bool has_nan = false;
    std::optional<TensorSummary> summary;  // where there is a budget
  };
  Status keep_before(const runtime::KernelCall& call);
  Status keep_after(const runtime::KernelCall& call);
  Status commit();
  Status drop(int64_t sequence);
  SuiteCall& call_at(int64_t sequence);
  // By parameter: whether it had NaN before and after the call.
  void note_nan(const KernelInfo& info, const std::vector<bool>& before,
                const std::vector<bool>& after);
  // Of a call that is not kept: only whether it made NaN.
  Status look_before(const runtime::KernelCall& call);
  Status look_after(const runtime::KernelCall& call);
  Result<bool> has_nan(const runtime::Tensor& tensor);
  Result<HostTensor> contents_of(const runtime::Tensor& tensor);
  Result<std::string> keep(const runtime::Tensor& tensor);
  Result<std::string> read(const runtime::Tensor& tensor);
  Status store(const std::string& hash, const HostTensor& tensor);
  int32_t suite_kernel(const KernelInfo& info);

  // A tensor as it lies in memory; its bytes are another matter.
  struct Place {
    uint64_t storage = 0;
    int64_t offset = 0;
    DType dtype = DType::kF32;
    runtime::Extents shape;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const noexcept;
  };
  // What a place held when it was last read.
  struct Known {
    uint64_t version = 0, generation = 0;  // of its storage, of its session
    std::string hash;
  };

  Suite suite_;
  CarveOptions options_;
  std::map<std::string, std::string> weight_of_;              // name by content hash
  std::unordered_map<const KernelInfo*, int32_t> kernel_of_;  // in the suite
  std::map<std::string, int64_t> seen_;                   // calls by kernel, function and scalars
  std::unordered_map<std::string, int64_t> sequence_of_;  // of the kept call with a test_key()
  std::unordered_map<std::string, Content> contents_;     // by hash
  std::unordered_map<std::string, int64_t> kept_tensors_;
  int64_t bytes_ = 0;
  CallSelection selection_;
  std::optional<SourceNaN> nan_;
  SuiteCall current_;
  bool skip_ = false;
  std::vector<bool> nan_before_;  // by parameter of a call that is skipped
  // Tensors that have not been written since are not read again: weights above all.
  std::unordered_map<Place, Known, PlaceHash> known_;
  // The same for tensors that were only looked at.
  struct Looked {
    uint64_t version = 0, generation = 0;
    bool has_nan = false;
  };
  std::unordered_map<Place, Looked, PlaceHash> looked_;
};

}  // namespace tapml::topdown
