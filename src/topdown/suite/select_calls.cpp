#include "topdown/suite/select_calls.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

// Smaller values count as zero, so that no distance between magnitudes exceeds that to zero.
constexpr double kSmallest = 0x1p-24;

double magnitude(double x) { return std::log2(x + kSmallest); }
double signed_magnitude(double x) { return std::copysign(std::log2(1 + std::abs(x)), x); }

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

TensorSummary summarize(const HostTensor& tensor) {
  double sum = 0, low = 0, high = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = tensor.at_f64(i);
    if (!std::isfinite(x)) continue;
    low = finite == 0 ? x : std::min(low, x);
    high = finite == 0 ? x : std::max(high, x);
    sum += x * x;
    ++finite;
  }
  TensorSummary summary;
  const double rms = finite > 0 ? std::sqrt(sum / static_cast<double>(finite)) : 0;
  summary.magnitude = magnitude(std::min(rms, std::numeric_limits<double>::max()));
  if (rms > 0 && std::isfinite(rms)) {
    summary.lowest = signed_magnitude(low / rms);
    summary.highest = signed_magnitude(high / rms);
  }
  // A difference here is worth as much as a factor of sixteen.
  summary.special = finite < tensor.size() ? 4 : 0;
  return summary;
}

void CallSelection::add(int64_t id, const SuiteCall& call, const std::vector<Tensor>& tensors) {
  Call entry;
  entry.kernel = call.kernel;
  for (int64_t scalar : call.scalars) {
    entry.features.push_back(signed_magnitude(static_cast<double>(scalar)));
  }
  std::set<size_t> named;
  for (const Tensor& tensor : tensors) {
    for (int64_t dim : tensor.shape) {
      entry.features.push_back(signed_magnitude(static_cast<double>(dim)));
    }
    const TensorSummary& summary = tensor.summary;
    entry.features.insert(entry.features.end(),
                          {summary.magnitude, summary.lowest, summary.highest, summary.special});
    auto [number, fresh] = number_.emplace(tensor.hash, held_.size());
    if (fresh) held_.push_back({tensor.hash, tensor.bytes, 0});
    named.insert(number->second);
  }
  entry.tensors.assign(named.begin(), named.end());
  for (size_t number : entry.tensors) {
    if (held_[number].uses++ == 0) bytes_ += held_[number].bytes;
  }
  find_nearest(id, entry);
  std::vector<int64_t>& others = by_kernel_[entry.kernel];
  for (int64_t other : others) {
    Call& one = calls_.at(other);
    const double apart = distance(one.features, entry.features);
    if (one.nearest_id >= 0 && one.nearest <= apart) continue;
    one.nearest = apart;
    one.nearest_id = id;
  }
  others.push_back(id);
  calls_.emplace(id, std::move(entry));
}

void CallSelection::find_nearest(int64_t id, Call& call) const {
  call.nearest_id = -1;
  auto others = by_kernel_.find(call.kernel);
  if (others == by_kernel_.end()) return;
  for (int64_t other : others->second) {
    if (other == id) continue;
    const double apart = distance(calls_.at(other).features, call.features);
    if (call.nearest_id >= 0 && call.nearest <= apart) continue;
    call.nearest = apart;
    call.nearest_id = other;
  }
}

int64_t CallSelection::least() const {
  int64_t least = -1;
  double smallest = 0;
  for (const auto& [id, call] : calls_) {
    if (call.nearest_id < 0) continue;
    double bytes = 0;
    for (size_t number : call.tensors) {
      const Held& held = held_[number];
      bytes += static_cast<double>(held.bytes) / static_cast<double>(held.uses);
    }
    if (bytes == 0) continue;
    const double value = call.nearest / bytes;
    if (least >= 0 && value > smallest) continue;
    least = id;
    smallest = value;
  }
  return least;
}

std::vector<std::string> CallSelection::remove(int64_t id) {
  const Call gone = std::move(calls_.at(id));
  calls_.erase(id);
  std::vector<int64_t>& others = by_kernel_.at(gone.kernel);
  std::erase(others, id);
  for (int64_t other : others) {
    Call& one = calls_.at(other);
    if (one.nearest_id == id) find_nearest(other, one);
  }
  std::vector<std::string> unused;
  for (size_t number : gone.tensors) {
    Held& held = held_[number];
    if (--held.uses > 0) continue;
    bytes_ -= held.bytes;
    unused.push_back(held.hash);
  }
  return unused;
}

namespace {

// A call or a group of a suite, as the selection sees it: groups of the same kernels are like calls
// of one more kernel.
struct Test {
  SuiteCall call;                    // its kernel, function and scalars
  std::vector<std::string> tensors;  // those of one parameter are at one index
};

std::vector<Test> tests_of(const Suite& suite) {
  std::vector<Test> tests;
  for (const SuiteCall& call : suite.calls) {
    Test& test = tests.emplace_back(Test{call, {}});
    for (const auto* hashes : {&call.before, &call.after}) {
      std::ranges::remove_copy(*hashes, std::back_inserter(test.tensors), "");
    }
  }
  std::map<std::string, int32_t> kinds;
  for (const SuiteGroup& group : suite.groups) {
    Test& test = tests.emplace_back();
    std::string kind;
    for (const SuiteCall& call : group.calls) {
      kind += std::to_string(call.kernel) + ",";
      test.call.function += call.function + ",";
      test.call.scalars.insert(test.call.scalars.end(), call.scalars.begin(), call.scalars.end());
      std::ranges::remove_copy(call.before, std::back_inserter(test.tensors), "");
    }
    for (const auto* values : {&group.inputs, &group.outputs}) {
      for (const GroupValue& value : *values) test.tensors.push_back(value.hash);
    }
    const auto number = static_cast<int32_t>(suite.kernels.size() + kinds.size());
    test.call.kernel = kinds.emplace(kind, number).first->second;
  }
  return tests;
}

// Removes tests and counts them in `dropped` of their kernels.
void remove_tests(Suite& suite, const std::set<size_t>& gone) {
  auto drop = [&](const SuiteCall& call, int64_t times) {
    suite.kernels[static_cast<size_t>(call.kernel)].dropped += times;
  };
  std::vector<SuiteCall> calls;
  std::vector<SuiteGroup> groups;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    SuiteCall& call = suite.calls[c];
    if (gone.contains(c)) {
      if (!call.added) drop(call, call.times);
    } else {
      calls.push_back(std::move(call));
    }
  }
  for (size_t g = 0; g < suite.groups.size(); ++g) {
    SuiteGroup& group = suite.groups[g];
    if (gone.contains(suite.calls.size() + g)) {
      for (const SuiteCall& call : group.calls) drop(call, group.times);
    } else {
      groups.push_back(std::move(group));
    }
  }
  suite.calls = std::move(calls);
  suite.groups = std::move(groups);
  drop_unnamed(suite);
}

}  // namespace

void drop_unnamed(Suite& suite) {
  const std::set<std::string> named = named_tensors(suite);
  std::erase_if(suite.tensors, [&](const auto& one) { return !named.contains(one.first); });
  std::erase_if(suite.weights, [&](const auto& one) { return !named.contains(one.first); });
}

void prune(Suite& suite, int64_t calls, int64_t budget) {
  const std::vector<Test> tests = tests_of(suite);
  std::set<size_t> gone;
  std::map<std::string, int64_t> kept;
  for (size_t t = 0; calls > 0 && t < tests.size(); ++t) {
    const SuiteCall& call = tests[t].call;
    std::string like = std::to_string(call.kernel) + "|" + call.function + "|";
    for (int64_t scalar : call.scalars) like += std::to_string(scalar) + ",";
    if (++kept[like] > calls) gone.insert(t);
  }
  if (budget > 0) {
    std::map<std::string, TensorSummary> summaries;
    std::map<std::string, int64_t> bytes;
    CallSelection selection;
    for (size_t t = 0; t < tests.size(); ++t) {
      if (gone.contains(t)) continue;
      std::vector<CallSelection::Tensor> tensors;
      for (const std::string& hash : tests[t].tensors) {
        const HostTensor& tensor = suite.tensors.at(hash);
        auto [summary, fresh] = summaries.try_emplace(hash);
        if (fresh) {
          summary->second = summarize(tensor);
          bytes[hash] = suite.weights.contains(hash) ? 0 : stored_bytes(tensor);
        }
        tensors.push_back({hash, tensor.shape(), summary->second, bytes[hash]});
      }
      selection.add(static_cast<int64_t>(t), tests[t].call, tensors);
      while (selection.bytes() > budget) {
        const int64_t least = selection.least();
        if (least < 0) break;
        selection.remove(least);
        gone.insert(static_cast<size_t>(least));
      }
    }
  }
  remove_tests(suite, gone);
}

void keep_kernels(Suite& suite, const std::set<int32_t>& wanted) {
  auto is_wanted = [&](const SuiteCall& call) { return wanted.contains(call.kernel); };
  std::erase_if(suite.calls, [&](const SuiteCall& call) { return !is_wanted(call); });
  std::erase_if(suite.groups, [&](const SuiteGroup& group) {
    return std::ranges::none_of(group.calls, is_wanted);
  });
  std::set<int32_t> needed = wanted;
  for (const SuiteGroup& group : suite.groups) {
    for (const SuiteCall& call : group.calls) needed.insert(call.kernel);
  }
  std::vector<int32_t> number(suite.kernels.size(), -1);
  std::vector<SuiteKernel> kernels;
  for (int32_t k : needed) {
    number[static_cast<size_t>(k)] = static_cast<int32_t>(kernels.size());
    kernels.push_back(std::move(suite.kernels[static_cast<size_t>(k)]));
  }
  suite.kernels = std::move(kernels);
  suite.untested.clear();  // from here on it lists the wanted kernels
  for (SuiteCall& call : suite.calls) call.kernel = number[static_cast<size_t>(call.kernel)];
  for (SuiteGroup& group : suite.groups) {
    for (SuiteCall& call : group.calls) call.kernel = number[static_cast<size_t>(call.kernel)];
  }
  drop_unnamed(suite);
}

Suite one_call(const Suite& suite, size_t call) {
  Suite one;
  one.source = suite.source;
  one.fusion_policy = suite.fusion_policy;
  one.model = suite.model;
  one.kernels = {suite.kernels[static_cast<size_t>(suite.calls[call].kernel)]};
  one.calls = {suite.calls[call]};
  one.calls[0].kernel = 0;
  for (const auto* hashes : {&one.calls[0].before, &one.calls[0].after}) {
    for (const std::string& hash : *hashes) {
      if (!hash.empty()) one.tensors.emplace(hash, suite.tensors.at(hash));
    }
  }
  return one;
}

}  // namespace tapml::topdown
