#include "llm/non_finite.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tapml::llm {

using runtime::KernelCall;
using runtime::Tensor;

namespace {

template <class Bits>
NonFiniteCount count_bits(std::span<const Bits> values, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
  NonFiniteCount count;
  count.elements = std::ssize(values);
  for (const Bits bits : values) {
    const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    if (magnitude < infinity) continue;
    if (magnitude > infinity) {
      ++count.nan;
    } else if ((bits & kSign) != 0) {
      ++count.below;
    } else {
      ++count.above;
    }
  }
  return count;
}

bool writes(AccessMode mode) { return mode == AccessMode::kOut || mode == AccessMode::kInOut; }
bool reads(AccessMode mode) { return mode == AccessMode::kIn || mode == AccessMode::kInOut; }

}  // namespace

std::string NonFiniteCount::text() const {
  std::string text;
  auto add = [&](const char* what, int64_t many) {
    if (many == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(what) + " in " + std::to_string(many);
    if (text.find(" of ") == std::string::npos) {
      text += " of " + std::to_string(elements) + (elements == 1 ? " element" : " elements");
    }
  };
  add("NaN", nan);
  add("+infinity", above);
  add("-infinity", below);
  return text;
}

NonFiniteCount count_non_finite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16:
      return count_bits<uint16_t>(tensor.values<uint16_t>(), 0x7c00);
    case DType::kBF16:
      return count_bits<uint16_t>(tensor.values<uint16_t>(), 0x7f80);
    case DType::kF32:
      return count_bits<uint32_t>(tensor.values<uint32_t>(), 0x7f800000);
    case DType::kF64:
      return count_bits<uint64_t>(tensor.values<uint64_t>(), 0x7ff0000000000000);
    default:
      return {.elements = tensor.size()};
  }
}

std::string NonFiniteCall::text() const {
  std::string text = kernel + (origin.layers.empty() ? "" : " (" + layers_summary(origin) + ")") +
                     " in " + function + ", output " + output + ": " + count.text();
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += (i == 0 ? ", from " : " and ") + inputs[i];
  }
  return text;
}

NonFiniteTracer::NonFiniteTracer(std::vector<GivenTensor> given) : given_(std::move(given)) {}

// The record of the bytes of `tensor` with the earliest cause; `exact`: it covers just these bytes.
std::optional<NonFiniteTracer::Written> NonFiniteTracer::written(const Tensor& tensor,
                                                                 bool& exact) const {
  const auto storage = storages_.find(tensor.storage->id());
  if (storage == storages_.end()) return {};
  const int64_t begin = tensor.offset, end = begin + tensor.byte_size();
  std::optional<Written> found;
  const Ranges& ranges = storage->second;
  auto it = ranges.upper_bound(begin);
  if (it != ranges.begin()) --it;
  for (; it != ranges.end() && it->first < end; ++it) {
    if (it->second.end <= begin) continue;
    if (!found ||
        (it->second.first >= 0 && (found->first < 0 || it->second.first < found->first))) {
      found = it->second;
      exact = it->first == begin && it->second.end == end;
    }
  }
  return found;
}

// A view of a part may hold only finite numbers.
Status NonFiniteTracer::look_inside(const Tensor& tensor, Cause& cause) const {
  TAPML_ASSIGN(const HostTensor bytes, runtime::download(tensor));
  const NonFiniteCount count = count_non_finite(bytes);
  if (!count.any()) cause = {};
  if (count.nan == 0) cause.nan = -1;
  return {};
}

void NonFiniteTracer::write(const Tensor& tensor, int first, int nan) {
  Ranges& ranges = storages_[tensor.storage->id()];
  const int64_t begin = tensor.offset, end = begin + tensor.byte_size();
  auto it = ranges.upper_bound(begin);
  if (it != ranges.begin()) --it;
  while (it != ranges.end() && it->first < end) {
    it = it->second.end <= begin ? std::next(it) : ranges.erase(it);
  }
  if (end > begin) ranges[begin] = {end, first, nan};
}

Status NonFiniteTracer::look_outside(const Tensor& tensor, const std::string& parameter) {
  TAPML_ASSIGN(const HostTensor bytes, runtime::download(tensor));
  if (!count_non_finite(bytes).any()) return {};
  const auto given = std::ranges::find_if(given_, [&](const GivenTensor& one) {
    return one.tensor.storage == tensor.storage && one.tensor.offset == tensor.offset;
  });
  const bool known = given != given_.end();
  not_finite_.push_back(known ? given->name : "input " + parameter);
  from_state_ |= known && given->state;
  return {};
}

bool NonFiniteTracer::better(int a, int b) const {
  if (b < 0) return a >= 0;
  if (a < 0) return false;
  auto is_mask = [&](int call) {
    const NonFiniteCount& count = calls_[static_cast<size_t>(call)].count;
    return count.nan + count.above == 0;
  };
  return is_mask(a) != is_mask(b) ? is_mask(b) : a < b;
}

Status NonFiniteTracer::before(const KernelCall& call) noexcept {
  const KernelInfo& kernel = *call.site.kernel;
  causes_.assign(kernel.params.size(), {});
  outside_.assign(kernel.params.size(), false);
  not_finite_.clear();
  from_state_ = false;
  for (size_t i = 0; i < kernel.params.size() && i < call.args.size(); ++i) {
    const AccessMode mode = kernel.params[i].mode;
    if (!reads(mode)) continue;
    const Tensor& tensor = call.args[i];
    bool exact = false;
    const std::optional<Written> known = written(tensor, exact);
    if (known) {
      causes_[i] = {known->first, known->nan};
      if (known->first >= 0 && !exact) TAPML_TRY(look_inside(tensor, causes_[i]));
      continue;
    }
    // Other inputs are read only if they matter; this one is about to be overwritten.
    if (mode != AccessMode::kInOut) {
      outside_[i] = true;
      continue;
    }
    TAPML_TRY(look_outside(tensor, kernel.params[i].name));
  }
  return {};
}

Status NonFiniteTracer::after(const KernelCall& call) noexcept {
  const KernelInfo& kernel = *call.site.kernel;
  for (size_t i = 0; i < kernel.params.size() && i < call.args.size(); ++i) {
    if (!writes(kernel.params[i].mode)) continue;
    const Tensor& tensor = call.args[i];
    TAPML_ASSIGN(const HostTensor bytes, runtime::download(tensor));
    const NonFiniteCount count = count_non_finite(bytes);
    if (!count.any()) {
      write(tensor, -1, -1);
      continue;
    }
    // The call may have turned infinite inputs into NaN.
    Cause cause;
    for (const Cause& one : causes_) {
      if (one.nan >= 0 && (cause.nan < 0 || one.nan < cause.nan)) cause = one;
    }
    for (const Cause& one : causes_) {
      if (cause.nan < 0 && better(one.first, cause.first)) cause.first = one.first;
    }
    const auto number = static_cast<int>(calls_.size());
    const bool begins = cause.first < 0;
    if (begins || (count.nan > 0 && cause.nan < 0)) {
      NonFiniteCall made{.kernel = kernel.name,
                         .function = call.site.function,
                         .output = kernel.params[i].name,
                         .origin = call.site.origin,
                         .dtype = tensor.dtype,
                         .count = count};
      for (size_t p = 0; begins && p < outside_.size(); ++p) {
        if (outside_[p]) TAPML_TRY(look_outside(call.args[p], kernel.params[p].name));
        outside_[p] = false;
      }
      made.inputs = not_finite_;
      made.from_state = from_state_;
      calls_.push_back(std::move(made));
    }
    write(tensor, begins ? number : cause.first,
          count.nan == 0 ? -1 : (cause.nan < 0 ? number : cause.nan));
  }
  return {};
}

std::optional<NonFiniteOrigin> NonFiniteTracer::origin_of(const Tensor& tensor) const {
  bool exact = false;
  const std::optional<Written> known = written(tensor, exact);
  if (!known || known->first < 0) return {};
  NonFiniteOrigin origin{calls_[static_cast<size_t>(known->first)], {}};
  if (known->nan >= 0 && known->nan != known->first) {
    origin.first_nan = calls_[static_cast<size_t>(known->nan)];
  }
  return origin;
}

}  // namespace tapml::llm
