#include "topdown/suite/merge_suites.h"

#include <algorithm>
#include <map>

#include "ir/exceptions.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/suite_weights.h"

namespace tapml::topdown {

namespace {

class Merger {
 public:
  void add(const Suite& suite, const std::string& name) {
    if (first_.empty()) {
      first_ = name;
      result_.source = suite.source;
      result_.fusion_policy = suite.fusion_policy;
      result_.model = suite.model;
    }
    if (!suite.incomplete.empty()) {
      result_.incomplete +=
          (result_.incomplete.empty() ? "" : "; ") + name + ": " + suite.incomplete;
    }
    for (const KernelUse& use : suite.untested) {
      const auto known = std::ranges::find(result_.untested, use.kernel, &KernelUse::kernel);
      if (known == result_.untested.end()) {
        result_.untested.push_back(use);
      } else {
        known->origin = merge_origins(known->origin, use.origin);
      }
    }
    same("fusion policy", result_.fusion_policy, suite.fusion_policy, name);
    same("source", result_.source, suite.source, name);
    same("model", result_.model, suite.model, name);
    std::vector<int32_t> numbers;
    for (const SuiteKernel& kernel : suite.kernels) numbers.push_back(add_kernel(kernel, name));
    int64_t last = next_ - 1;
    for (const SuiteCall& call : suite.calls) {
      SuiteCall moved = call;
      moved.kernel = numbers[static_cast<size_t>(call.kernel)];
      moved.sequence += next_;
      last = std::max(last, moved.sequence);
      add_call(std::move(moved));
    }
    for (SuiteGroup moved : suite.groups) {
      for (SuiteCall& call : moved.calls) {
        call.kernel = numbers[static_cast<size_t>(call.kernel)];
        call.sequence += next_;
        last = std::max(last, call.sequence);
      }
      add_group(std::move(moved));
    }
    next_ = last + 1;
    result_.tensors.insert(suite.tensors.begin(), suite.tensors.end());
    for (const auto& [hash, tensor] : suite.tensors) {
      auto weight = suite.weights.find(hash);
      if (weight == suite.weights.end()) {
        inside_.insert(hash);
      } else {
        result_.weights.insert(*weight);
      }
    }
    if (suite.weights.empty()) return;
    if (referring_.empty()) {
      referring_ = name;
      result_.model_folder = suite.model_folder;
      result_.quantization = suite.quantization;
    }
    if (result_.quantization != suite.quantization) {
      auto text = [](const std::string& one) { return one.empty() ? "none" : one; };
      throw_user("the suite's weights by reference are quantized in another way", name,
                 text(result_.quantization) + ", as in " + referring_, text(suite.quantization),
                 "carve one of them with --weights inside");
    }
  }

  Suite finish() {
    std::erase_if(result_.weights, [&](const auto& one) { return inside_.contains(one.first); });
    if (!result_.weights.empty()) unwrap(weights_by_reference(result_, "the merged suite"));
    // A kernel that one suite does not test may have a test in another.
    result_.untested = untested_kernels(result_.untested, result_);
    return std::move(result_);
  }

 private:
  void same(const std::string& what, const std::string& expected, const std::string& found,
            const std::string& name) const {
    if (expected == found) return;
    throw_user("the suite has another " + what, name, expected + ", as in " + first_, found,
               "merge only suites of one model, fusion policy and source");
  }

  int32_t add_kernel(const SuiteKernel& kernel, const std::string& name) {
    int32_t number = result_.find_kernel(kernel.name);
    if (number < 0) {
      result_.kernels.push_back(kernel);
      return static_cast<int32_t>(result_.kernels.size() - 1);
    }
    SuiteKernel& known = result_.kernels[static_cast<size_t>(number)];
    if (known.spec != kernel.spec || known.modes != kernel.modes) {
      throw_user("two suites have different kernels of the same name", name,
                 "the specification that " + first_ + " has", "another one of " + kernel.name,
                 "carve them with one version of tapml");
    }
    known.dropped += kernel.dropped;
    return number;
  }

  void add_call(SuiteCall call) {
    auto [known, fresh] = call_of_.emplace(test_key(call), result_.calls.size());
    if (fresh) {
      result_.calls.push_back(std::move(call));
      return;
    }
    SuiteCall& same = result_.calls[known->second];
    same.origin = merge_origins(same.origin, call.origin);
    if (call.added) return;
    same.times = same.added ? call.times : same.times + call.times;
    same.added = false;
  }

  void add_group(SuiteGroup group) {
    auto [known, fresh] = group_of_.emplace(test_key(group), result_.groups.size());
    if (fresh) {
      result_.groups.push_back(std::move(group));
      return;
    }
    SuiteGroup& same = result_.groups[known->second];
    same.times += group.times;
    for (size_t c = 0; c < same.calls.size(); ++c) {
      same.calls[c].origin = merge_origins(same.calls[c].origin, group.calls[c].origin);
    }
  }

  Suite result_;
  std::string first_, referring_;  // the first suite, and the first with weights by reference
  std::set<std::string> inside_;
  std::map<std::string, size_t> call_of_, group_of_;  // by test_key()
  int64_t next_ = 0;  // position in the run of the next suite's first call
};

}  // namespace

Suite merge(const std::vector<Suite>& suites, const std::vector<std::string>& names) {
  Merger merger;
  for (size_t i = 0; i < suites.size(); ++i) merger.add(suites[i], names[i]);
  return merger.finish();
}

}  // namespace tapml::topdown
