#include "topdown/suite/select_calls.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "topdown/suite/tensor_file.h"

namespace tapml::topdown {

namespace {

// Smaller values are as good as zero: no magnitude is further from another than that of zero.
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
  // Worth as much as a factor of sixteen.
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

void prune(Suite& suite, int64_t calls, int64_t budget) {
  std::set<size_t> gone;
  std::map<std::string, int64_t> kept;
  for (size_t c = 0; calls > 0 && c < suite.calls.size(); ++c) {
    const SuiteCall& call = suite.calls[c];
    std::string group = std::to_string(call.kernel) + "|" + call.function + "|";
    for (int64_t scalar : call.scalars) group += std::to_string(scalar) + ",";
    if (++kept[group] > calls) gone.insert(c);
  }
  if (budget > 0) {
    std::map<std::string, TensorSummary> summaries;
    std::map<std::string, int64_t> bytes;
    CallSelection selection;
    for (size_t c = 0; c < suite.calls.size(); ++c) {
      if (gone.contains(c)) continue;
      std::vector<CallSelection::Tensor> tensors;
      for (const auto* hashes : {&suite.calls[c].before, &suite.calls[c].after}) {
        for (const std::string& hash : *hashes) {
          if (hash.empty()) continue;
          const HostTensor& tensor = suite.tensors.at(hash);
          auto [summary, fresh] = summaries.try_emplace(hash);
          if (fresh) {
            summary->second = summarize(tensor);
            bytes[hash] = suite.weights.contains(hash) ? 0 : stored_bytes(tensor);
          }
          tensors.push_back({hash, tensor.shape(), summary->second, bytes[hash]});
        }
      }
      selection.add(static_cast<int64_t>(c), suite.calls[c], tensors);
      while (selection.bytes() > budget) {
        const int64_t least = selection.least();
        if (least < 0) break;
        selection.remove(least);
        gone.insert(static_cast<size_t>(least));
      }
    }
  }
  std::vector<SuiteCall> left;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    SuiteCall& call = suite.calls[c];
    if (gone.contains(c)) {
      suite.kernels[static_cast<size_t>(call.kernel)].dropped += call.times;
    } else {
      left.push_back(std::move(call));
    }
  }
  suite.calls = std::move(left);
  const std::set<std::string> named = named_tensors(suite);
  std::erase_if(suite.tensors, [&](const auto& one) { return !named.contains(one.first); });
  std::erase_if(suite.weights, [&](const auto& one) { return !named.contains(one.first); });
}

}  // namespace tapml::topdown
