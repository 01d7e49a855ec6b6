// The reference outputs of a carved call: the kernel's specification in f64.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "abi/allowances.h"
#include "base/work.h"
#include "ir/module.h"
#include "op/reference.h"
#include "topdown/reference_run/output_precision.h"
#include "topdown/reference_run/sampled_elements.h"
#include "topdown/reference_run/tolerance.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Evaluates specs in f64, and caches the result of each call for several targets.
class KernelReference {
 public:
  // Multiply-adds of a call above which only a sample of its output is compared.
  static constexpr int64_t kSampleAbove = 20'000'000;
  // The least elements of a sample, if there are as many.
  static constexpr int64_t kSampleSize = kDrawnElements + kDifferingElements;

  explicit KernelReference(const Suite& suite, int64_t sample_above = kSampleAbove);
  // The kernel's outputs after `call` (index into the suite's calls), one per out or inout
  // parameter, in the parameters' order. Above the limit, compares a sample (sampled_elements()) by
  // source and `target` (the target's outputs, same order).
  // `allowed`: what their errors have besides honest rounding.
  std::vector<op::RefTensor> outputs(size_t call, const std::vector<HostTensor>& target,
                                     const Allowances& allowed = {});
  // The same for other inputs, which may have errors up to their bounds: one per in or inout
  // parameter. Not cached.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call, std::vector<op::RefTensor> inputs,
                                      const Allowances& allowed = {}) const {
    return evaluate(call, std::move(inputs), {}, {}, allowed);
  }
  // Looks for a lower precision of the kernel's products in `target`, the target's outputs after
  // `call`, which the errors' size alone may not show. Returns the likely cause; null: none.
  // `imprecise`: the size has shown that there is one; else the search is short. `allowed`: with
  // which the size was compared.
  const SuspectedCause* likely_cause(size_t call, const std::vector<HostTensor>& target,
                                     bool imprecise, const Allowances& allowed = {}) const;
  // What its program itself allows, as its errors have it.
  Allowances specified_allowances(int32_t kernel) const;
  // What the platform that the suite was carved on may do.
  const Allowances& source_allowances() const { return source_allowances_; }
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
                                      const op::ProductRounding& products,
                                      const Allowances& allowed) const;
  std::vector<op::RefTensor> inputs_of(const SuiteCall& call) const;
  double flops_of(const SuiteCall& call) const;
  std::vector<uint8_t> sample(size_t call, const std::vector<HostTensor>& target) const;

  const Suite& suite_;
  int64_t sample_above_;
  std::function<void()> poll_;
  WorkWatcher watcher_;
  Tolerances tolerances_;
  Module module_;
  Allowances source_allowances_;
  // By call and allowances_text().
  std::map<std::pair<size_t, std::string>, std::vector<op::RefTensor>> answers_;
};

}  // namespace tapml::topdown
