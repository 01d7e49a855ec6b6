// The reference outputs of a carved call: the kernel's specification in f64.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/work.h"
#include "ir/module.h"
#include "op/reference.h"
#include "topdown/reference_run/tolerance.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Evaluates specs in f64, and caches the result of each call for several targets.
class KernelReference {
 public:
  // Multiply-adds of a call above which only a sample of its output is compared.
  static constexpr int64_t kSampleAbove = 20'000'000;
  static constexpr int64_t kSampleSize = 4096;

  explicit KernelReference(const Suite& suite, int64_t sample_above = kSampleAbove);
  // The kernel's outputs after `call` (index into the suite's calls), one per out or inout
  // parameter, in the parameters' order. Above the limit, compares the elements where source and
  // `target` (the target's outputs, same order) differ most, and as many random ones.
  std::vector<op::RefTensor> outputs(size_t call, const std::vector<HostTensor>& target);
  // The same for other inputs, which may have errors up to their bounds: one per in or inout
  // parameter. Not cached.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call,
                                      std::vector<op::RefTensor> inputs) const {
    return evaluate(call, std::move(inputs), {}, {});
  }
  // Looks for a lower precision of the kernel's products in `target`, the target's outputs after
  // `call`, which the errors' size alone may not show. Returns the likely cause; empty: none.
  // `imprecise`: the size has shown that there is one; else the search is short.
  std::string likely_cause(size_t call, const std::vector<HostTensor>& target,
                           bool imprecise) const;
  // False for a kernel that only calls a library routine: its outputs() are the source's.
  bool has_specification(int32_t kernel) const;
  // Called regularly while outputs() evaluates; an exception from it ends the evaluation.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  // Receives the progress of each kernel's launches; may be empty.
  void set_watcher(WorkWatcher watcher) { watcher_ = std::move(watcher); }
  const WorkWatcher& watcher() const { return watcher_; }
  // Widens the bounds of the kernels that the tolerances describe.
  void set_tolerances(Tolerances tolerances) { tolerances_ = std::move(tolerances); }
  const Tolerances& tolerances() const { return tolerances_; }
  // The kernels as a Module after kernel formation: what a target implements.
  const Module& module() const { return module_; }

 private:
  std::vector<op::RefTensor> source_outputs(const SuiteCall& call) const;
  // `wanted`: flags of the elements to compare, or empty.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call, std::vector<op::RefTensor> inputs,
                                      std::vector<uint8_t> wanted,
                                      const op::ProductRounding& products) const;
  std::vector<op::RefTensor> inputs_of(const SuiteCall& call) const;
  double flops_of(const SuiteCall& call) const;
  std::vector<uint8_t> sample(size_t call, const std::vector<HostTensor>& target) const;

  const Suite& suite_;
  int64_t sample_above_;
  std::function<void()> poll_;
  WorkWatcher watcher_;
  Tolerances tolerances_;
  Module module_;
  std::map<size_t, std::vector<op::RefTensor>> answers_;
};

}  // namespace tapml::topdown
