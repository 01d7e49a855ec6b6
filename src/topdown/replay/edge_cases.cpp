#include "topdown/replay/edge_cases.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>

#include "ir/exceptions.h"
#include "llm/made_logits.h"
#include "passes/kernel.h"
#include "topdown/replay/case_inputs.h"
#include "topdown/replay/replay.h"
#include "topdown/runner/call_runner.h"
#include "topdown/runner/contained_run.h"

namespace tapml::topdown {

namespace {

constexpr std::array<double, 14> kValues = {0,   -0.0, 1,    -1,   45,    -45,    88,
                                            -88, 1031, 1035, 6e-8, 65504, -65504, 1e-4};
constexpr std::array<int64_t, 7> kSizes = {1, 2, 3, 17, 63, 64, 65};

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

// Number of elements of `tensor` that one call takes from the table.
int64_t changed_elements(const HostTensor& tensor) { return (tensor.size() + 2) / 3; }

// `tensor` with every third element from the table, starting at entry `first`.
HostTensor with_edge_values(const HostTensor& tensor, size_t first) {
  HostTensor changed = HostTensor::zeros(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), changed.mutable_bytes().begin());
  for (int64_t i = 0; i < changed.size(); i += 3) {
    changed.set_f64(i, kValues[(first + static_cast<size_t>(i / 3)) % kValues.size()]);
  }
  return changed;
}

// `tensor` with such elements in the last row of its innermost dimension alone.
HostTensor with_edge_values_in_last_row(const HostTensor& tensor) {
  HostTensor changed = HostTensor::zeros(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), changed.mutable_bytes().begin());
  const int64_t first = tensor.size() - tensor.shape().back();
  for (int64_t i = first; i < changed.size(); ++i) {
    changed.set_f64(i, kValues[static_cast<size_t>(i - first) % kValues.size()]);
  }
  return changed;
}

// A tensor of this dtype and shape whose rows are those of made_logits(), from row `first` on.
HostTensor with_choices(const HostTensor& tensor, int64_t first) {
  const int64_t width = tensor.shape().back();
  const HostTensor made = llm::made_logits(width);
  HostTensor changed = HostTensor::zeros(tensor.dtype(), tensor.shape());
  for (int64_t i = 0; i < changed.size(); ++i) {
    const int64_t row = (first + i / width) % made.shape()[0];
    changed.set_f64(i, made.at_f64(row * width + i % width));
  }
  return changed;
}

// Whether the call chooses a token.
bool chooses_token(const SuiteCall& call) {
  return call.function == "sample" || call.function == "draw";
}

// What the suite's kernels and the executable of its model say of the cache.
CachePlan cache_plan(const Suite& suite, const Module& module, const ModelInterface& model) {
  CachePlan plan;
  if (!model.functions.empty()) return {model.page_size, model.context};
  // A suite of another program: the pages that its kernels have.
  for (const SuiteCall& call : suite.calls) {
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
    const KernelIntegers integers = integers_of(passes::kernel_spec(module, kernel.name), kernel);
    if (!integers.cache.known || integers.cache.pools.empty() || !integers.cache.page_table) {
      continue;
    }
    const auto shape_of = [&](size_t param) {
      return suite.tensors.at(call.before[param]).shape();
    };
    plan.page_size = shape_of(*integers.cache.pools.begin())[1];
    plan.context = std::max(plan.context, plan.page_size * shape_of(*integers.cache.page_table)[1]);
  }
  return plan;
}

class EdgeMaker {
 public:
  EdgeMaker(Suite& suite, Sandbox& source, const std::function<void()>& poll,
            const WorkWatcher& watcher, bool choices_only)
      : suite_(suite),
        source_(source),
        poll_(poll),
        watcher_(watcher),
        choices_only_(choices_only),
        reference_(suite) {
    if (poll) reference_.set_poll(poll);
    carved_ = suite.calls.size();
    for (const SuiteCall& call : suite.calls) sequence_ = std::max(sequence_, call.sequence + 1);
  }

  EdgeCases run() {
    if (!choices_only_) {
      plan_ = cache_plan(suite_, reference_.module(), source_.runner().executable().model);
    }
    for (int32_t kernel = 0; kernel < static_cast<int32_t>(suite_.kernels.size()); ++kernel) {
      tell(watcher_, {"make", kernel, std::ssize(suite_.kernels), "kernels"});
      const std::optional<size_t> base = smallest_call(kernel);
      if (!base || !reference_.has_specification(kernel)) continue;
      vary_choices(*base);
      if (choices_only_) continue;
      vary_values(*base);
      CaseInputs inputs(suite_, reference_.module(), kernel, plan_);
      for (auto& [call, what] : inputs.index_cases(suite_.calls[*base])) add(std::move(call), what);
      for (auto& [call, what] : inputs.cache_cases(suite_.calls[*base])) add(std::move(call), what);
      vary_sizes(*base, inputs);
    }
    // Keep the indices of calls until all are checked: the reference caches by index.
    for (auto it = refused_.rbegin(); it != refused_.rend(); ++it) {
      suite_.calls.erase(suite_.calls.begin() + static_cast<std::ptrdiff_t>(*it));
    }
    result_.added = std::ssize(suite_.calls) - static_cast<int64_t>(carved_);
    return std::move(result_);
  }

 private:
  const SuiteKernel& kernel_of(const SuiteCall& call) const {
    return suite_.kernels[static_cast<size_t>(call.kernel)];
  }
  const HostTensor& input(const SuiteCall& call, size_t param) const {
    return suite_.tensors.at(call.before[param]);
  }

  // The call of the kernel that moves the fewest bytes.
  std::optional<size_t> smallest_call(int32_t kernel) const {
    std::optional<size_t> smallest;
    size_t least = std::numeric_limits<size_t>::max();
    for (size_t c = 0; c < carved_; ++c) {
      const SuiteCall& call = suite_.calls[c];
      if (call.kernel != kernel || call.function == kEdgeFunction) continue;
      size_t bytes = 0;
      for (const auto* hashes : {&call.before, &call.after}) {
        for (const std::string& hash : *hashes) {
          if (!hash.empty()) bytes += suite_.tensors.at(hash).byte_size();
        }
      }
      if (bytes >= least) continue;
      least = bytes;
      smallest = c;
    }
    return smallest;
  }

  std::string keep(HostTensor tensor) {
    std::string hash = content_hash(tensor);
    suite_.tensors.emplace(hash, std::move(tensor));
    return hash;
  }

  void vary_values(size_t base) {
    const SuiteKernel& kernel = kernel_of(suite_.calls[base]);
    for (size_t i = 0; i < kernel.modes.size(); ++i) {
      if (kernel.modes[i] == AccessMode::kOut) continue;
      const HostTensor& carved = input(suite_.calls[base], i);
      if (!is_float(carved.dtype()) || static_cast<int64_t>(carved.byte_size()) > kLargestCase)
        continue;
      // Small tensors need several calls for the whole table.
      const auto step = static_cast<size_t>(std::max<int64_t>(changed_elements(carved), 1));
      for (size_t first = 0; first < kValues.size() && carved.size() > 0; first += step) {
        SuiteCall call = suite_.calls[base];
        call.before[i] = keep(with_edge_values(carved, first));
        add(std::move(call), "values of " + kernel.params[i]);
      }
      if (carved.shape().size() < 2 || carved.size() == carved.shape().back()) continue;
      SuiteCall call = suite_.calls[base];
      call.before[i] = keep(with_edge_values_in_last_row(carved));
      add(std::move(call), "values of the last row of " + kernel.params[i]);
    }
  }

  void vary_choices(size_t base) {
    const SuiteKernel& kernel = kernel_of(suite_.calls[base]);
    if (!makes_choice(kernel) || chooses_token(suite_.calls[base])) return;
    const auto weights = passes::kernel_spec(reference_.module(), kernel.name)
                             .facts.weights.value_or(std::vector<int64_t>());
    for (size_t i = 0; i < kernel.modes.size(); ++i) {
      if (kernel.modes[i] != AccessMode::kIn) continue;
      if (std::ranges::count(weights, static_cast<int64_t>(i)) > 0) continue;
      const HostTensor& carved = input(suite_.calls[base], i);
      if (!is_float(carved.dtype()) || carved.size() == 0 || carved.shape().empty() ||
          static_cast<int64_t>(carved.byte_size()) > kLargestCase) {
        continue;
      }
      const int64_t rows = carved.size() / carved.shape().back();
      const int64_t made = llm::made_logits(1).shape()[0];
      for (int64_t first = 0; first < made; first += rows) {
        SuiteCall call = suite_.calls[base];
        call.before[i] = keep(with_choices(carved, first));
        add(std::move(call), "choices in " + kernel.params[i]);
      }
    }
  }

  void vary_sizes(size_t base, CaseInputs& inputs) {
    const SuiteCall carved = suite_.calls[base];
    const tir::PrimFunc& program =
        passes::kernel_implementation(reference_.module(), kernel_of(carved).name);
    for (size_t scalar = 0; scalar < program.scalars.size(); ++scalar) {
      if (inputs.is_cache_size(scalar)) continue;
      std::set<int64_t> sizes(kSizes.begin(), kSizes.end());
      sizes.insert(largest_size(carved.kernel, scalar));
      if (plan_.context > 0 && inputs.new_tokens() == scalar) sizes.insert(plan_.context);
      sizes.erase(carved.scalars.at(scalar));
      for (const int64_t size : sizes) {
        std::vector<int64_t> scalars = carved.scalars;
        scalars[scalar] = size;
        if (auto call = inputs.resized(carved, std::move(scalars))) {
          add(*std::move(call), program.scalars[scalar]->name + " = " + std::to_string(size));
        }
      }
    }
  }

  // The largest value that a carved call of the kernel has.
  int64_t largest_size(int32_t kernel, size_t scalar) const {
    int64_t largest = 1;
    for (size_t c = 0; c < carved_; ++c) {
      if (suite_.calls[c].kernel != kernel) continue;
      largest = std::max(largest, suite_.calls[c].scalars.at(scalar));
    }
    return largest;
  }

  // Runs the call, whose `after` has tensors of the outputs' shapes, on the source.
  void add(SuiteCall call, const std::string& what) {
    if (poll_) poll_();
    const SuiteKernel& kernel = kernel_of(call);
    call.sequence = sequence_++;
    call.function = kEdgeFunction;
    call.times = 1;
    call.added = true;
    const size_t index = suite_.calls.size();
    suite_.calls.push_back(std::move(call));
    const auto refuse = [&](const std::string& why) {
      refused_.push_back(index);
      result_.unsupported.push_back(kernel.name + ", " + what + ": " + why);
    };
    auto outputs = run_call(suite_, index, source_.runner());
    if (!outputs) {
      if (source_.contains(outputs.error())) {
        source_.restart();
      } else if (outputs.error().kind == ErrorKind::kPlatform) {
        throw_error(outputs.error());
      }
      refuse(outputs.error().message);
      return;
    }
    const auto compared = guard([&] { return reference_.outputs(index, *outputs); });
    if (!compared) {
      if (compared.error().kind == ErrorKind::kPlatform) throw_error(compared.error());
      refuse(compared.error().message);
      return;
    }
    size_t next = 0;
    for (size_t i = 0; i < kernel.modes.size(); ++i) {
      if (kernel.modes[i] == AccessMode::kIn) continue;
      HostTensor& output = (*outputs)[next];
      Comparison own = compare(output, output, (*compared)[next]);
      if (const Allowances& allowed = reference_.source_allowances();
          own.outcome != Outcome::kPass && allowed.any()) {
        own = compare(output, output, reference_.outputs(index, *outputs, allowed).at(next));
      }
      ++next;
      if (own.outcome != Outcome::kPass) {
        refuse(own.source.mask_mismatches > 0
                   ? std::to_string(own.source.mask_mismatches) + " NaN or infinite"
                   : "error " + text_of(own.source.max_abs) + ", allowed " +
                         text_of(own.source.bound_at_max));
        return;
      }
      suite_.calls[index].after[i] = keep(std::move(output));
    }
  }

  Suite& suite_;
  Sandbox& source_;
  const std::function<void()>& poll_;
  const WorkWatcher& watcher_;
  const bool choices_only_;
  KernelReference reference_;
  CachePlan plan_;
  size_t carved_ = 0;
  int64_t sequence_ = 0;
  std::vector<size_t> refused_;
  EdgeCases result_;
};

}  // namespace

EdgeCases add_edge_cases(Suite& suite, Sandbox& source, const std::function<void()>& poll,
                         const WorkWatcher& watcher) {
  return EdgeMaker(suite, source, poll, watcher, false).run();
}

bool makes_choice(const SuiteKernel& kernel) {
  static constexpr std::array kOperators = {" = argmax(", " = argmin(", " = topk(", " = sort(",
                                            " = argsort("};
  return std::ranges::any_of(
      kOperators, [&](const char* text) { return kernel.spec.find(text) != std::string::npos; });
}

EdgeCases add_choice_cases(Suite& suite, Sandbox& source, const std::function<void()>& poll) {
  const bool any = std::ranges::any_of(suite.calls, [&](const SuiteCall& call) {
    return !chooses_token(call) && makes_choice(suite.kernels[static_cast<size_t>(call.kernel)]);
  });
  return any ? EdgeMaker(suite, source, poll, {}, true).run() : EdgeCases();
}

}  // namespace tapml::topdown
