#include "topdown/faults/inject_fault.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "pipeline/compile.h"
#include "schedule/rules.h"
#include "topdown/runner/call_runner.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::topdown {

namespace {

constexpr size_t kMostSites = 24;
constexpr int kMostAlternatives = 4;

}  // namespace

std::string faulty_kernel(const Suite& suite, const std::string& wanted) {
  return find_kernel(kernel_names(suite), wanted, {"--inject-fault " + wanted, "the suite"});
}

std::vector<HostTensor> carved_outputs(const Suite& suite, const std::string& kernel,
                                       Sandbox& sandbox) {
  std::vector<HostTensor> all;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    if (suite.kernels[static_cast<size_t>(suite.calls[c].kernel)].name != kernel) continue;
    for (HostTensor& output : unwrap(run_call(suite, c, sandbox.runner()))) {
      all.push_back(std::move(output));
    }
  }
  return all;
}

namespace {

// Outputs of all carved calls of one kernel, from an executable that holds only this kernel.
class KernelOutputs {
 public:
  KernelOutputs(const Suite& suite, const Module& kernels, const std::string& kernel,
                Sandbox& sandbox)
      : suite_(suite), kernel_(kernel), sandbox_(sandbox) {
    alone_ = passes::kernel_alone(kernels, kernel);
    alone_.facts = kernels.facts;
    alone_.attrs = kernels.attrs;
  }

  // Nothing: it crashed.
  std::optional<std::vector<HostTensor>> of(const tir::PrimFuncRef& implementation) {
    pipeline::ImplementOptions options;
    options.rewrite = [&](const std::string&, tir::PrimFuncRef scheduled) {
      return implementation ? implementation : scheduled;
    };
    sandbox_.load(pipeline::implement(alone_, sandbox_.target(), options));
    auto outputs = guard([&] { return carved_outputs(suite_, kernel_, sandbox_); });
    if (outputs) return *outputs;
    if (!sandbox_.contains(outputs.error())) throw_error(outputs.error());
    sandbox_.restart();
    return std::nullopt;
  }

 private:
  const Suite& suite_;
  std::string kernel_;
  Sandbox& sandbox_;
  Module alone_;
};

std::vector<size_t> site_order(size_t count, uint64_t seed) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  if (seed == 0) return order;
  RandomStream random(seed, "sites");
  for (size_t i = count; i-- > 1;) {
    std::swap(order[i], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  }
  return order;
}

}  // namespace

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].bytes().data(), b[i].bytes().data(), a[i].byte_size()) != 0) return false;
  }
  return true;
}

FaultyKernel inject_fault(const Suite& suite, KernelReference& reference, const std::string& kernel,
                          FaultKind kind, Sandbox& sandbox, const std::function<bool()>& cancelled,
                          uint64_t seed) {
  std::string name = faulty_kernel(suite, kernel);
  if (is_of_session(kind)) {
    throw_user("a fault of this kind shows only in runs of the whole model",
               "--inject-fault " + name + ":" + fault_kind_name(kind),
               "a kind of fault within one kernel", "", "tapml localize injects it");
  }
  if (ends_process(kind) && !sandbox.isolated()) {
    throw_user("a fault of this kind ends the process that runs the kernel",
               "--inject-fault " + name + ":" + fault_kind_name(kind),
               "a process of its own for the kernel", "", "omit --in-process");
  }
  const tir::PrimFunc& loops = passes::kernel_implementation(reference.module(), name);
  const tir::PrimFuncRef scheduled = schedule::schedule_for(loops, sandbox.target()).func;
  if (kind == FaultKind::kEndlessLoop) {
    std::vector<tir::PrimFuncRef> variants = fault_kind(kind).variants(*scheduled);
    if (!variants.empty()) return {name, kind, variants[0], 0};
  }
  KernelOutputs outputs(suite, reference.module(), name, sandbox);
  const std::optional<std::vector<HostTensor>> clean = outputs.of(nullptr);
  auto has_effect = [&](const tir::PrimFuncRef& implementation) {
    auto changed = outputs.of(implementation);
    return clean && (!changed || !same_bits(*clean, *changed));
  };
  auto first_effective = [&](FaultKind one) -> std::optional<FaultyKernel> {
    const std::vector<tir::PrimFuncRef> variants = fault_kind(one).variants(*scheduled);
    const std::vector<size_t> order = site_order(variants.size(), seed);
    for (size_t i = 0; i < order.size() && i < kMostSites; ++i) {
      if (cancelled && cancelled()) throw_platform(PlatformFault::kCancelled, "interrupted");
      if (has_effect(variants[order[i]])) {
        return FaultyKernel{name, one, variants[order[i]], static_cast<int>(order[i])};
      }
    }
    return std::nullopt;
  };
  if (auto faulty = first_effective(kind)) return *faulty;
  // A few kinds that do; trying them all takes long.
  std::string effective;
  int found = 0;
  for (const FaultKindInfo& other : fault_kinds()) {
    if (found == kMostAlternatives || seed != 0) break;
    if (other.kind == kind || ends_process(other.kind) || !other.variants) continue;
    if (!first_effective(other.kind)) continue;
    ++found;
    effective += (effective.empty() ? "" : ", ") + std::string(other.name);
  }
  throw_user("no site of this kind changes an output of the kernel on the carved inputs",
             "--inject-fault " + name + ":" + fault_kind_name(kind),
             effective.empty() ? "another kernel" : "a kind that does: " + effective);
}

}  // namespace tapml::topdown
