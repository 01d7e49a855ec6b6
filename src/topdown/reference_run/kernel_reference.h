// What a carved call should have computed: the kernel's specification in f64.
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

// Evaluates specs in f64; remembers each call's answer, so that several targets share it.
class KernelReference {
 public:
  // Multiply-adds of a call above which only a sample of its output is judged.
  static constexpr int64_t kSampleAbove = 20'000'000;
  static constexpr int64_t kSampleSize = 4096;

  explicit KernelReference(const Suite& suite, int64_t sample_above = kSampleAbove);
  // The kernel's outputs after `call` (index into the suite's calls), one per out or inout
  // parameter, in the parameters' order. Above the limit, the elements where source and `target`
  // (the target's outputs, same order) differ most are judged, and as many random ones.
  std::vector<op::RefTensor> outputs(size_t call, const std::vector<HostTensor>& target);
  // The same of other inputs, which may be off by their bounds: one per in or inout parameter. Not
  // remembered.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call,
                                      std::vector<op::RefTensor> inputs) const {
    return evaluate(call, std::move(inputs), {});
  }
  // False for a kernel that only calls a library routine: its outputs() are the source's.
  bool has_specification(int32_t kernel) const;
  // Called now and then while outputs() evaluates; what it throws ends that.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  // Told how far each kernel's launches are; empty: nobody is.
  void set_watcher(WorkWatcher watcher) { watcher_ = std::move(watcher); }
  const WorkWatcher& watcher() const { return watcher_; }
  // Widen the bounds of the kernels that they describe.
  void set_tolerances(Tolerances tolerances) { tolerances_ = std::move(tolerances); }
  const Tolerances& tolerances() const { return tolerances_; }
  // The kernels as a Module whose boundaries are fixed: what a target implements.
  const Module& module() const { return module_; }

 private:
  std::vector<op::RefTensor> source_outputs(const SuiteCall& call) const;
  // `wanted`: flags of the elements that count, or empty.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call, std::vector<op::RefTensor> inputs,
                                      std::vector<uint8_t> wanted) const;
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
