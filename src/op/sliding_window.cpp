#include "op/sliding_window.h"

#include <algorithm>

namespace tapml::op {

namespace {

bool has_attribute(const CallView& call, const char* name) {
  return std::any_of(call.info.attrs.begin(), call.info.attrs.end(),
                     [&](const AttributeSpec& spec) { return spec.name == std::string(name); });
}

}  // namespace

std::vector<int64_t> window_attribute(const CallView& call, const char* name, size_t rank,
                                      int64_t fallback, int64_t least) {
  std::vector<int64_t> entries = call.integers(name);
  if (entries.empty()) entries.assign(rank, fallback);
  if (entries.size() != rank) {
    call.error(std::string(name) + " does not have one entry per spatial dimension",
               std::to_string(rank), std::to_string(entries.size()));
  }
  for (int64_t entry : entries) {
    if (entry < least) {
      call.error(std::string("an entry of ") + name + " is too small",
                 "at least " + std::to_string(least), std::to_string(entry));
    }
  }
  return entries;
}

SlidingWindow::SlidingWindow(const CallView& call, size_t rank)
    : strides(window_attribute(call, "strides", rank, 1, 1)), dilation(rank, 1) {
  if (has_attribute(call, "dilation")) {
    dilation = window_attribute(call, "dilation", rank, 1, 1);
  }
  const std::vector<int64_t>& padding = call.integers("padding");
  if (padding.size() == 2 * rank) {
    before.assign(padding.begin(), padding.begin() + static_cast<std::ptrdiff_t>(rank));
    after.assign(padding.begin() + static_cast<std::ptrdiff_t>(rank), padding.end());
  } else if (padding.size() == rank || padding.empty()) {
    before = padding;
    before.resize(rank, 0);
    after = before;
  } else {
    call.error("padding does not have one or two entries per spatial dimension",
               std::to_string(rank) + " or " + std::to_string(2 * rank),
               std::to_string(padding.size()));
  }
  for (size_t d = 0; d < rank; ++d) {
    if (before[d] < 0 || after[d] < 0) {
      call.error("padding is negative", "entries of at least 0", shape_to_string(padding));
    }
  }
}

PrimExpr reach(const PrimExpr& kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }

PrimExpr window_positions(const CallView& call, const SlidingWindow& window, size_t d,
                          const PrimExpr& in, const PrimExpr& kernel) {
  if (provably_less(kernel, 1)) {
    call.error("the kernel is empty", "kernel dimensions of at least 1", to_string(kernel));
  }
  expect_at_least(call, kernel, 1, "kernel dimension " + std::to_string(d));
  PrimExpr padded = simplified(in + (window.before[d] + window.after[d]));
  PrimExpr covered = simplified(reach(kernel, window.dilation[d]));
  if (provably_less(padded, covered)) {
    call.error(
        "the kernel is larger than the padded input along spatial dimension " + std::to_string(d),
        "a reach of at most " + to_string(padded), to_string(covered));
  }
  expect_at_least(call, in, simplified(covered - (window.before[d] + window.after[d])),
                  "spatial dimension " + std::to_string(d));
  return simplified(floordiv(padded - covered, window.strides[d]) + 1);
}

PrimExpr guarded(const std::vector<PrimExpr>& conditions, const PrimExpr& value,
                 const PrimExpr& otherwise) {
  PrimExpr all;
  for (const PrimExpr& condition : conditions) {
    if (condition.is_int(1)) continue;
    all = all ? logical_and(all, condition) : condition;
  }
  return all ? select(all, value, otherwise) : value;
}

AttributeSpec strides_attribute(const char* doc) {
  return {"strides", AttributeKind::kInts, false, std::vector<int64_t>(), doc};
}

AttributeSpec padding_attribute() {
  return {"padding", AttributeKind::kInts, false, std::vector<int64_t>(),
          "elements of padding: one entry per spatial dimension for both sides, or all entries for "
          "the front and then all for the back; empty: none"};
}

AttributeSpec dilation_attribute() {
  return {"dilation", AttributeKind::kInts, false, std::vector<int64_t>(),
          "distance of the kernel's elements in each spatial dimension; empty: 1"};
}

void keep_spatial(Shape& shape, int64_t limit) {
  for (size_t d = 2; d < shape.size(); ++d) shape[d] = std::max<int64_t>(shape[d], 1);
  Shape counted = shape;
  for (int64_t& dim : counted) dim = std::max<int64_t>(dim, 1);
  keep_moderate(counted, limit);
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = std::min(shape[d], counted[d]);
}

std::vector<int64_t> random_entries(size_t rank, int64_t low, int64_t high, RandomStream& rng) {
  std::vector<int64_t> entries;
  for (size_t d = 0; d < rank; ++d) entries.push_back(rng.between(low, high));
  return entries;
}

}  // namespace tapml::op
