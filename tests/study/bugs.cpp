#include "study/bugs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "passes/kernel.h"

namespace tapml::study {

using namespace topdown;  // NOLINT: this is about topdown alone

namespace {

// As many bugs as the cases of the paper's Table 6 have.
constexpr std::array<int64_t, 10> kCounts = {1, 4, 11, 2, 2, 1, 1, 1, 1, 2};
constexpr int kMostKernels = 4;  // to try a kind in

int64_t count_of(const Options& options, int64_t number) {
  return kCounts.at(static_cast<size_t>(options.first_count + number) % kCounts.size());
}

template <class T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (size_t i = items.size(); i-- > 1;) {
    std::swap(items[i], items[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  }
}

// All kinds, continuing after those of the cases before `number`.
std::vector<FaultKind> kinds_of(const Setting& setting, const Options& options, int64_t number) {
  std::vector<FaultKind> kinds;
  for (const FaultKindInfo& info : fault_kinds()) {
    if (info.kind != FaultKind::kEndlessLoop) kinds.push_back(info.kind);  // runs until its timeout
  }
  RandomStream random = setting.random("kinds");
  shuffle(kinds, random);
  int64_t used = 0;
  for (int64_t i = 0; i < number; ++i) used += count_of(options, i);
  std::ranges::rotate(kinds, kinds.begin() + used % std::ssize(kinds));
  return kinds;
}

// Must show on the carved calls or in a whole run; the number of times is counted.
std::optional<Bug> session_bug(Setting& setting, const std::string& kernel, FaultKind kind) {
  auto faults = std::make_shared<std::vector<SessionFault>>();
  Sandbox sandbox(with_session_faults(setting.target(), faults));
  const auto executable = setting.target_executable({});
  sandbox.load(executable);
  const auto tests = carved_outputs(setting.suite(), kernel, sandbox);
  const auto logits = setting.target_logits(sandbox, executable);
  auto changes = [&] {
    return !same_bits(tests, carved_outputs(setting.suite(), kernel, sandbox)) ||
           !same_bits(logits, setting.target_logits(sandbox, executable));
  };
  for (size_t site = 0; site < session_sites(kind); ++site) {
    *faults = {{kernel, kind, site}};
    Bug bug{kernel, kind, nullptr, faults->front()};
    for (int run = 0; run < kRuns && (run == 0 || bug.changed > 0); ++run) {
      bug.changed += changes() ? 1 : 0;
    }
    if (bug.changed > 0) return bug;
  }
  return std::nullopt;
}

// Largest error of a kernel's carved outputs, relative to its bound for a correct implementation.
double largest_error(Setting& setting, const std::string& kernel,
                     const std::vector<HostTensor>& outputs) {
  const Suite& suite = setting.suite();
  double largest = 0;
  size_t next = 0;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    const SuiteKernel& info = suite.kernels[static_cast<size_t>(suite.calls[c].kernel)];
    if (info.name != kernel) continue;
    const auto count = static_cast<size_t>(
        std::ranges::count_if(info.modes, [](AccessMode mode) { return mode != AccessMode::kIn; }));
    const std::vector<HostTensor> of_call(
        outputs.begin() + static_cast<std::ptrdiff_t>(next),
        outputs.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    const std::vector<op::RefTensor> expected = setting.reference().outputs(c, of_call);
    for (size_t o = 0; o < count; ++o) {
      const Errors errors = measure(of_call[o], expected[o], {});
      if (errors.mask_mismatches > 0) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, errors.max_ratio);
    }
  }
  return largest;
}

std::optional<Bug> kernel_bug(Setting& setting, const std::string& kernel, FaultKind kind,
                              uint64_t seed) {
  Sandbox sandbox(setting.target());
  auto faulty = guard([&] {
    return inject_fault(setting.suite(), setting.reference(), kernel, kind, sandbox, {}, seed);
  });
  if (!faulty) return std::nullopt;
  Bug bug{kernel, kind, faulty->implementation, {}};
  if (ends_process(kind)) {
    bug.changed = kRuns;
    return bug;
  }
  Module alone = passes::kernel_alone(setting.reference().module(), kernel);
  alone.attrs = setting.reference().module().attrs;
  pipeline::ImplementOptions implement;
  sandbox.load(pipeline::implement(alone, setting.target().target, implement));
  const auto expected = carved_outputs(setting.suite(), kernel, sandbox);
  implement.rewrite = rewrite_of({bug});
  sandbox.load(pipeline::implement(alone, setting.target().target, implement));
  double worst = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto outputs = carved_outputs(setting.suite(), kernel, sandbox);
    if (same_bits(expected, outputs)) continue;
    ++bug.changed;
    // Beyond the bound the result is certain.
    if (worst <= 1) worst = std::max(worst, largest_error(setting, kernel, outputs));
  }
  bug.harmless = worst <= kHarmless * largest_error(setting, kernel, expected);
  return bug;
}

}  // namespace

std::vector<Bug> draw_bugs(Setting& setting, const Options& options, int64_t number) {
  RandomStream random = setting.random("case " + std::to_string(number));
  std::vector<std::string> kernels;
  for (const SuiteKernel& kernel : setting.suite().kernels) kernels.push_back(kernel.name);
  std::vector<Bug> bugs;
  for (const FaultKind kind : kinds_of(setting, options, number)) {
    if (std::ssize(bugs) == count_of(options, number) || kernels.empty()) break;
    // Two runtime bugs at once would hide each other in one held launch.
    const bool has_session = std::ranges::any_of(bugs, [](const Bug& b) { return !!b.session; });
    if (has_session && is_of_session(kind)) continue;
    shuffle(kernels, random);
    const uint64_t seed = random.next() | 1U;
    const size_t most = is_of_session(kind) ? 1 : kMostKernels;
    for (size_t at = 0; at < std::min(most, kernels.size()); ++at) {
      auto bug = is_of_session(kind) ? session_bug(setting, kernels[at], kind)
                                     : kernel_bug(setting, kernels[at], kind, seed);
      if (!bug) continue;
      bugs.push_back(std::move(*bug));
      kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
  }
  return bugs;
}

Setting::Rewrite rewrite_of(const std::vector<Bug>& bugs) {
  return [bugs](const std::string& name, tir::PrimFuncRef scheduled) {
    for (const Bug& bug : bugs) {
      if (bug.implementation && bug.kernel == name) return bug.implementation;
    }
    return scheduled;
  };
}

pipeline::KernelChoice rewritten_by(const std::vector<Bug>& bugs) {
  std::set<std::string> kernels;
  for (const Bug& bug : bugs) {
    if (bug.implementation) kernels.insert(bug.kernel);
  }
  return [kernels](const std::string& name) { return kernels.contains(name); };
}

SessionFaults session_faults_of(const std::vector<Bug>& bugs) {
  auto faults = std::make_shared<std::vector<SessionFault>>();
  for (const Bug& bug : bugs) {
    if (bug.session) faults->push_back(*bug.session);
  }
  return faults;
}

}  // namespace tapml::study
