#include "topdown/localize/shrink.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "topdown/replay/replay.h"
#include "topdown/runner/call_runner.h"
#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

namespace {

using Clock = std::chrono::steady_clock;

// Inputs are zeroed in at most this many parts, which are single elements if the input is small.
constexpr int64_t kMostParts = 64;

const HostTensor& input(const Suite& suite, size_t param) {
  return suite.tensors.at(suite.calls[0].before[param]);
}

// Replaces a tensor that the call reads or writes.
void replace(Suite& suite, std::string& hash, HostTensor tensor) {
  hash = content_hash(tensor);
  suite.tensors.insert_or_assign(hash, std::move(tensor));
}

void drop_unused(Suite& suite) {
  std::set<std::string> used;
  for (const SuiteCall& call : suite.calls) {
    used.insert(call.before.begin(), call.before.end());
    used.insert(call.after.begin(), call.after.end());
  }
  std::erase_if(suite.tensors, [&](const auto& item) { return !used.contains(item.first); });
}

// The leading part of the tensor, with `shape`, which fits inside it.
HostTensor leading_part(const HostTensor& tensor, const Shape& shape) {
  HostTensor part = HostTensor::zeros(tensor.dtype(), shape);
  const size_t bytes = dtype_bytes(tensor.dtype());
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < part.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) from = from * tensor.shape()[d] + at[d];
    std::copy_n(tensor.bytes().begin() + from * static_cast<int64_t>(bytes), bytes,
                part.mutable_bytes().begin() + i * static_cast<int64_t>(bytes));
    for (size_t d = shape.size(); d > 0; --d) {
      if (++at[d - 1] < shape[d - 1]) break;
      at[d - 1] = 0;
    }
  }
  return part;
}

HostTensor own_copy(const HostTensor& tensor) {
  HostTensor copy = HostTensor::zeros(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
  return copy;
}

class Shrinker {
 public:
  Shrinker(const Suite& failing, const KernelVerdict& verdict, Sandbox& target, Sandbox& source,
           const ShrinkOptions& options)
      : target_(target),
        source_(source),
        options_(options),
        until_(Clock::now() + options.time),
        original_reference_(failing),
        program_(
            passes::kernel_implementation(original_reference_.module(), failing.kernels[0].name)),
        best_(failing),
        verdict_(verdict) {}

  SmallestCall run() {
    SmallestCall result;
    result.dims_before = dims();
    result.bytes_before = bytes();
    result.nonzero_before = nonzero();
    shrink_dims();
    for (size_t i = 0; i < best_.kernels[0].modes.size(); ++i) {
      if (best_.kernels[0].modes[i] != AccessMode::kOut) shrink_values(i);
    }
    drop_unused(best_);
    result.dims_after = dims();
    result.bytes_after = bytes();
    result.nonzero_after = nonzero();
    result.tries = tries_;
    result.complete = complete_;
    result.suite = std::move(best_);
    result.verdict = verdict_;
    return result;
  }

 private:
  std::vector<std::pair<std::string, int64_t>> dims() const {
    std::vector<std::pair<std::string, int64_t>> result;
    for (size_t i = 0; i < program_.scalars.size(); ++i) {
      result.emplace_back(program_.scalars[i]->name, best_.calls[0].scalars[i]);
    }
    return result;
  }
  template <class F>
  int64_t over_inputs(F&& count) const {
    int64_t sum = 0;
    for (size_t i = 0; i < best_.kernels[0].modes.size(); ++i) {
      if (best_.kernels[0].modes[i] != AccessMode::kOut) sum += count(input(best_, i));
    }
    return sum;
  }
  int64_t bytes() const {
    return over_inputs([](const HostTensor& t) { return static_cast<int64_t>(t.byte_size()); });
  }
  int64_t nonzero() const {
    return over_inputs([](const HostTensor& t) {
      int64_t count = 0;
      for (int64_t i = 0; i < t.size(); ++i) count += t.at_f64(i) != 0 ? 1 : 0;
      return count;
    });
  }

  bool time_left() {
    if (options_.cancelled && options_.cancelled()) {
      throw_platform(PlatformFault::kCancelled, "interrupted");
    }
    if (Clock::now() < until_) return true;
    complete_ = false;
    return false;
  }

  // The target's verdict on a suite of one call; nothing if the source cannot compute it, or not
  // within its bound.
  std::optional<KernelVerdict> verdict_of(const Suite& suite) {
    KernelReference reference(suite);
    auto verdict = replay_kernel(suite, reference, 0, target_, {.launches = 1});
    if (!verdict) {
      if (verdict.error().kind == ErrorKind::kPlatform) throw_error(verdict.error());
      return std::nullopt;
    }
    if (verdict->source_wrong) return std::nullopt;
    return *verdict;
  }

  // Whether the reference can evaluate the call and finds the source's outputs within their bounds.
  static bool fair(const Suite& suite, const std::vector<HostTensor>& source) {
    const auto right = guard([&] {
      KernelReference reference(suite);
      const auto within = [&](const Allowances& allowed) {
        const std::vector<op::RefTensor> compared = reference.outputs(0, source, allowed);
        for (size_t i = 0; i < source.size(); ++i) {
          if (!is_right(measure(source[i], compared[i], {}))) return false;
        }
        return true;
      };
      const Allowances& allowed = reference.source_allowances();
      return within({}) || (allowed.any() && within(allowed));
    });
    return right && *right;
  }

  // Replaces the best call by `smaller`, whose inputs were changed, if it fails in the same way.
  bool take(Suite smaller) {
    ++tries_;
    auto outputs = run_call(smaller, 0, source_.runner());
    if (!outputs) {
      if (source_.contains(outputs.error())) source_.restart();
      return false;
    }
    // The cut may leave indices out of range: a failure then proves nothing.
    if (!fair(smaller, *outputs)) return false;
    size_t next = 0;
    SuiteCall& call = smaller.calls[0];
    for (size_t i = 0; i < call.after.size(); ++i) {
      if (smaller.kernels[0].modes[i] == AccessMode::kIn) continue;
      replace(smaller, call.after[i], std::move((*outputs)[next++]));
    }
    drop_unused(smaller);
    auto verdict = verdict_of(smaller);
    if (!verdict || !same_failure(*verdict, verdict_)) return false;
    best_ = std::move(smaller);
    verdict_ = *verdict;
    return true;
  }

  // The best call with scalar `which` set to `value` and its tensors cut; nothing if a tensor would
  // grow.
  std::optional<Suite> with_dim(size_t which, int64_t value) const {
    Suite smaller = best_;
    SuiteCall& call = smaller.calls[0];
    call.scalars[which] = value;
    const arith::Values values = scalar_values(program_, call.scalars);
    for (size_t i = 0; i < program_.params.size(); ++i) {
      const bool fresh = smaller.kernels[0].modes[i] == AccessMode::kOut;
      const HostTensor& old = best_.tensors.at(fresh ? call.after[i] : call.before[i]);
      const std::optional<Shape> shape = parameter_shape(program_.params[i], values);
      if (!shape || !std::ranges::equal(*shape, old.shape(), std::less_equal())) {
        return std::nullopt;
      }
      HostTensor part = leading_part(old, *shape);
      if (smaller.kernels[0].modes[i] != AccessMode::kIn) replace(smaller, call.after[i], part);
      if (!fresh) replace(smaller, call.before[i], std::move(part));
    }
    return smaller;
  }

  bool try_dim(size_t which, int64_t value) {
    auto smaller = with_dim(which, value);
    return smaller && take(std::move(*smaller));
  }

  void shrink_dims() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < program_.scalars.size(); ++i) {
        const int64_t old = best_.calls[0].scalars[i];
        if (old <= 1 || !time_left()) continue;
        int64_t good = try_dim(i, 1) ? 1 : old, bad = 1;
        while (good - bad > 1 && time_left()) {
          const int64_t middle = bad + (good - bad) / 2;
          (try_dim(i, middle) ? good : bad) = middle;
        }
        changed |= good < old;
      }
    }
  }

  bool take_input(size_t param, HostTensor tensor) {
    Suite smaller = best_;
    replace(smaller, smaller.calls[0].before[param], std::move(tensor));
    return take(std::move(smaller));
  }

  // Sets elements to zero, half of the tensor at a time, then quarters, and so on.
  void shrink_values(size_t param) {
    const int64_t size = input(best_, param).size();
    for (int64_t parts = 1; parts <= std::min(size, kMostParts); parts *= 2) {
      for (int64_t part = 0; part < parts; ++part) {
        HostTensor tensor = own_copy(input(best_, param));
        bool changes = false;
        for (int64_t i = size * part / parts; i < size * (part + 1) / parts; ++i) {
          if (tensor.at_f64(i) == 0) continue;
          tensor.set_f64(i, 0);
          changes = true;
        }
        if (!changes) continue;
        if (!time_left()) return;
        if (take_input(param, std::move(tensor)) && parts == 1) return;
      }
    }
    // Replaces the rest by ones, which are easy to read.
    if (!is_float(input(best_, param).dtype()) || !time_left()) return;
    HostTensor ones = own_copy(input(best_, param));
    for (int64_t i = 0; i < size; ++i) {
      if (ones.at_f64(i) != 0) ones.set_f64(i, 1);
    }
    take_input(param, std::move(ones));
  }

  Sandbox &target_, &source_;
  const ShrinkOptions& options_;
  const Clock::time_point until_;
  KernelReference original_reference_;  // has the program
  const tir::PrimFunc& program_;
  Suite best_;
  KernelVerdict verdict_;
  int64_t tries_ = 0;
  bool complete_ = true;
};

}  // namespace

bool same_failure(const KernelVerdict& a, const KernelVerdict& b) {
  return !a.passed && !b.passed && a.failed == b.failed;
}

std::optional<SmallestCall> shrink_call(const Suite& failing, const KernelVerdict& verdict,
                                        Sandbox& target, Sandbox& source,
                                        const ShrinkOptions& options) {
  if (verdict.passed) {
    throw_internal("a call that does not fail cannot be made smaller", verdict.kernel);
  }
  if (verdict.source_wrong) return std::nullopt;
  return Shrinker(failing, verdict, target, source, options).run();
}

}  // namespace tapml::topdown
