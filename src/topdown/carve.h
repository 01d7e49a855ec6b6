// Test carving (TapML 2025, section 3.2): an observer that keeps what every kernel call read and
// wrote.
#pragma once

#include <unordered_map>

#include "runtime/vm.h"
#include "topdown/suite.h"

namespace tapml::topdown {

// Attached to a VM's call point while the run to carve goes on. It only reads: the run computes the
// same bits with and without it.
class Carver : public runtime::Observer {
 public:
  // `calls_per_kernel`: calls of one kernel that are kept for each combination of its scalars and
  // function (0: all of them).
  Carver(const Executable& executable, int64_t calls_per_kernel = 0);

  bool wants(const runtime::CallSite& site, int64_t sequence) noexcept override;
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;

  Suite take() { return std::move(suite_); }
  const Suite& suite() const { return suite_; }

 private:
  Status keep_before(const runtime::KernelCall& call);
  Status keep_after(const runtime::KernelCall& call);
  Result<std::string> keep(const runtime::Tensor& tensor);
  Result<std::string> read(const runtime::Tensor& tensor);
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
  int64_t calls_per_kernel_;
  std::unordered_map<const KernelInfo*, int32_t> kernel_of_;  // in the suite
  std::map<std::string, int64_t> kept_;
  SuiteCall current_;
  bool skip_ = false;
  // Tensors that have not been written since are not read again: weights above all.
  std::unordered_map<Place, Known, PlaceHash> known_;
};

}  // namespace tapml::topdown
