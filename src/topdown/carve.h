// Test carving (TapML 2025, section 3.2): an observer that keeps what every kernel call read and
// wrote.
#pragma once

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

  Suite suite_;
  int64_t calls_per_kernel_;
  std::map<int32_t, int32_t> kernel_of_;  // executable's index to the suite's
  std::map<std::string, int64_t> kept_;
  SuiteCall current_;
  bool skip_ = false;
  // Tensors that have not been written since are not read again: weights above all.
  std::map<std::tuple<uint64_t, uint64_t, int64_t, std::string>, std::string> known_;
};

}  // namespace tapml::topdown
