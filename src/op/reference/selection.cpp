// References of the operators whose results have lengths that depend on data.
#include <algorithm>
#include <numeric>

#include "op/reference/coordinates.h"
#include "op/reference/order.h"
#include "op/reference/sorting.h"

namespace tapml::op::reference {

namespace {

bool is_set(const RefTensor& x, size_t i) {
  return x.integers.empty() ? x.values[i] != 0 : x.integers[i] != 0;
}

// Whether a correct implementation may decide differently about the element.
bool may_flip(const RefTensor& x, size_t i) {
  return x.bound[i] > 0 && !(std::fabs(x.values[i]) > x.bound[i]);
}

// The start of each run of equal elements in `sorted`, and the end.
std::vector<size_t> runs_of(const RefTensor& sorted) {
  std::vector<size_t> starts;
  for (size_t k = 0; k < sorted.values.size(); ++k) {
    if (k == 0 || !are_equal(sorted, k - 1, sorted, k)) starts.push_back(k);
  }
  return starts;
}

}  // namespace

void nonzero_count(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t count = 0, unsure = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    count += is_set(x, i);
    unsure += may_flip(x, i);
  }
  put_integer(outputs[0], 0, count, static_cast<double>(unsure));
}

void nonzero_fill(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  size_t rows = static_cast<size_t>(out.shape[0]), rank = x.shape.size(), row = 0;
  bool open = false;
  auto open_rest = [&] {
    for (size_t e = row * rank; e < rows * rank; ++e) out.bound[e] = kInfinity;
  };
  each_element(x.shape, [&](size_t element, const Coordinates& at) {
    if (row >= rows) return;
    if (!open && may_flip(x, element)) {
      open = true;
      open_rest();
    }
    if (!is_set(x, element)) return;
    for (size_t d = 0; d < rank; ++d) {
      put_integer(out, row * rank + d, at[d], open ? kInfinity : 0);
    }
    ++row;
  });
}

void nonzero(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t count = 0;
  for (size_t i = 0; i < x.values.size(); ++i) count += is_set(x, i);
  outputs[0] = RefTensor::zeros(DType::kI32, {count, static_cast<int64_t>(x.shape.size())});
  nonzero_fill(attrs, args, outputs);
}

void unique_count(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& sorted = *args[0].tensor;
  size_t count = runs_of(sorted).size();
  auto open = static_cast<double>(sorted.values.size());
  put_integer(outputs[0], 0, static_cast<int64_t>(count), is_exact(sorted) ? 0 : open);
}

void unique_fill(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &sorted = *args[0].tensor, &order = *args[1].tensor;
  size_t rows = outputs[0].values.size(), count = sorted.values.size();
  std::vector<size_t> runs = runs_of(sorted);
  for (size_t run = 0; run < runs.size(); ++run) {
    size_t end = run + 1 < runs.size() ? runs[run + 1] : count;
    if (run < rows) {
      put_moved(outputs[0], run, sorted, runs[run]);
      put_integer(outputs[2], run, static_cast<int64_t>(end - runs[run]));
    }
    for (size_t k = runs[run]; k < end; ++k) {
      int64_t place = order.integer(k);
      if (place < 0 || place >= static_cast<int64_t>(count)) continue;
      put_integer(outputs[1], static_cast<size_t>(place), static_cast<int64_t>(run));
    }
  }
  if (is_exact(sorted) && is_exact(order)) return;
  for (RefTensor& out : outputs) open_all(out);
}

void unique(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  auto count = static_cast<int64_t>(x.values.size());
  std::vector<size_t> places(x.values.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return is_before(x, a, x, b); });
  RefTensor sorted = RefTensor::zeros(x.dtype, {count});
  RefTensor order = RefTensor::zeros(DType::kI32, {count});
  for (size_t k = 0; k < places.size(); ++k) {
    put_moved(sorted, k, x, places[k]);
    put_integer(order, k, static_cast<int64_t>(places[k]));
  }
  auto distinct = static_cast<int64_t>(runs_of(sorted).size());
  outputs[0] = RefTensor::zeros(x.dtype, {distinct});
  outputs[2] = RefTensor::zeros(DType::kI32, {distinct});
  const RefArg parts[] = {{&sorted, {}}, {&order, {}}, {nullptr, {distinct}}};
  unique_fill(attrs, parts, outputs);
}

}  // namespace tapml::op::reference
