// References of the operators that order rows.
#include "op/reference/sorting.h"

#include <algorithm>
#include <numeric>

#include "op/reference/helpers.h"
#include "op/reference/order.h"

namespace tapml::op::reference {

namespace {

// One row: its elements and the element at each position.
struct SortedRow {
  std::vector<size_t> elements;  // of x
  std::vector<size_t> places;    // into `elements`
  std::vector<bool> settled;     // whether the index at the position is certain
};

SortedRow sort_row(const RefTensor& x, std::vector<size_t> elements, bool descending) {
  SortedRow row{std::move(elements), {}, {}};
  size_t count = row.elements.size();
  row.places.resize(count);
  std::iota(row.places.begin(), row.places.end(), size_t{0});
  std::stable_sort(row.places.begin(), row.places.end(), [&](size_t a, size_t b) {
    if (descending) std::swap(a, b);
    return is_before(x, row.elements[a], x, row.elements[b]);
  });
  // Intervals in sorted order: a position is separate if every interval before it ends below its
  // interval and every interval after it begins above.
  row.settled.assign(count, true);
  auto bound = [&](size_t place) { return x.bound[row.elements[row.places[place]]]; };
  auto end = [&](size_t place, bool upper) {
    size_t element = row.elements[row.places[place]];
    return upper ? upper_end(x, element) : lower_end(x, element);
  };
  for (bool forward : {true, false}) {
    double reach = -kInfinity, exact_reach = -kInfinity;
    bool any = false, any_exact = false;
    for (size_t step = 0; step < count; ++step) {
      size_t place = forward ? step : count - 1 - step;
      // Distances grow along the walk in either direction.
      bool grows = forward != descending;
      double near = grows ? end(place, false) : -end(place, true);
      double far = grows ? end(place, true) : -end(place, false);
      if (std::isnan(far)) far = kInfinity;
      if (any && !(reach < near)) row.settled[place] = false;
      if (bound(place) > 0) {
        if (any_exact && !(exact_reach < near)) row.settled[place] = false;
        reach = any ? std::max(reach, far) : far;
        any = true;
      } else {
        exact_reach = any_exact ? std::max(exact_reach, far) : far;
        any_exact = true;
      }
    }
  }
  return row;
}

// f(output element, position, row) writes each position.
template <class F>
void sort_rows(const RefTensor& x, int64_t axis, bool descending, size_t places, F&& write) {
  AxisView view(x.shape, axis);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      std::vector<size_t> elements(view.extent);
      for (size_t k = 0; k < view.extent; ++k) elements[k] = view.at(o, k, i);
      SortedRow row = sort_row(x, std::move(elements), descending);
      for (size_t k = 0; k < places; ++k) write((o * places + k) * view.inner + i, k, row);
    }
  }
}

// Error bound of the value at each position of a sorted row.
std::vector<double> place_bounds(const RefTensor& x, const SortedRow& row, bool descending) {
  size_t count = row.elements.size();
  std::vector<double> lower(count), upper(count), bounds(count, 0);
  bool exact = true;
  for (size_t k = 0; k < count; ++k) {
    lower[k] = lower_end(x, row.elements[k]);
    upper[k] = upper_end(x, row.elements[k]);
    exact &= x.bound[row.elements[k]] == 0;
  }
  if (exact) return bounds;
  auto order = [&](double a, double b) { return descending ? is_less(b, a) : is_less(a, b); };
  std::sort(lower.begin(), lower.end(), order);
  std::sort(upper.begin(), upper.end(), order);
  for (size_t k = 0; k < count; ++k) {
    double value = x.values[row.elements[row.places[k]]];
    double off = std::max(upper[k] - value, value - lower[k]);
    if (std::isnan(value) && std::isnan(lower[k]) && std::isnan(upper[k])) off = 0;
    bounds[k] = std::isnan(off) ? kInfinity : off;
  }
  return bounds;
}

void put_values(const RefTensor& x, int64_t axis, bool descending, size_t places, RefTensor& out) {
  std::vector<double> bounds;
  sort_rows(x, axis, descending, places, [&](size_t to, size_t place, const SortedRow& row) {
    if (place == 0) bounds = place_bounds(x, row, descending);
    put_moved(out, to, x, row.elements[row.places[place]]);
    put_bound(out, to, bounds[place]);
  });
}

void put_indices(const RefTensor& x, int64_t axis, bool descending, size_t places, RefTensor& out) {
  sort_rows(x, axis, descending, places, [&](size_t to, size_t place, const SortedRow& row) {
    auto open = static_cast<double>(row.elements.size());
    put_integer(out, to, static_cast<int64_t>(row.places[place]), row.settled[place] ? 0 : open);
  });
}

}  // namespace

void sort(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t axis = *find_attr<int64_t>(attrs, "axis");
  put_values(x, axis, *find_attr<bool>(attrs, "descending"), AxisView(x.shape, axis).extent,
             outputs[0]);
}

void argsort(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t axis = *find_attr<int64_t>(attrs, "axis");
  put_indices(x, axis, *find_attr<bool>(attrs, "descending"), AxisView(x.shape, axis).extent,
              outputs[0]);
}

void topk(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t axis = *find_attr<int64_t>(attrs, "axis");
  bool largest = *find_attr<bool>(attrs, "largest");
  auto k = static_cast<size_t>(*find_attr<int64_t>(attrs, "k"));
  put_values(x, axis, largest, k, outputs[0]);
  put_indices(x, axis, largest, k, outputs[1]);
}

void searchsorted(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &sorted = *args[0].tensor, &values = *args[1].tensor;
  bool right = *find_attr<bool>(attrs, "right");
  auto extent = static_cast<size_t>(sorted.shape.back());
  bool own_rows = sorted.shape.size() > 1;
  size_t per_row = own_rows ? static_cast<size_t>(values.shape.back()) : 1;
  for (size_t v = 0; v < values.values.size(); ++v) {
    size_t row = own_rows ? v / per_row * extent : 0;
    int64_t count = 0, unsure = 0;
    for (size_t k = 0; k < extent; ++k) {
      // If elements are out of order, the result of a search is unspecified.
      if (k > 0 && is_before(sorted, row + k, sorted, row + k - 1)) unsure += sorted.shape.back();
      bool passes =
          right ? !is_before(values, v, sorted, row + k) : is_before(sorted, row + k, values, v);
      count += passes;
      bool exact = values.bound[v] == 0 && sorted.bound[row + k] == 0;
      unsure += !exact && !are_apart(values, v, sorted, row + k);
    }
    put_integer(outputs[0], v, count, static_cast<double>(unsure));
  }
}

}  // namespace tapml::op::reference
