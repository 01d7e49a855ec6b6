// References of the operators that read elements at indices.
#include "op/reference/indexing.h"

#include "op/reference/coordinates.h"
#include "op/reference/resolve.h"

namespace tapml::op::reference {

namespace {

// Sets element `to` of out to element `from` of x, or to 0 if there is none.
void put_read(RefTensor& out, size_t to, const RefTensor& x, std::optional<size_t> from,
              bool settled) {
  if (from) {
    put_moved(out, to, x, *from);
  } else {
    put_exact(out, to, 0, 0);
  }
  if (!settled) out.bound[to] = kInfinity;
}

}  // namespace

void take(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &indices = *args[1].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", 0));
  size_t count = indices.values.size();
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t k = 0; k < count; ++k) {
      auto index = resolve(indices.integer(k), view.extent);
      for (size_t i = 0; i < view.inner; ++i) {
        std::optional<size_t> from;
        if (index) from = view.at(o, *index, i);
        put_read(outputs[0], (o * count + k) * view.inner + i, x, from, indices.bound[k] == 0);
      }
    }
  }
}

void gather(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &indices = *args[1].tensor;
  size_t axis = counted_from_front(*find_attr<int64_t>(attrs, "axis"), x.shape.size());
  each_element(indices.shape, [&](size_t element, Coordinates at) {
    auto index = resolve(indices.integer(element), static_cast<size_t>(x.shape[axis]));
    std::optional<size_t> from;
    if (index) {
      at[axis] = static_cast<int64_t>(*index);
      from = element_at(x.shape, at);
    }
    put_read(outputs[0], element, x, from, indices.bound[element] == 0);
  });
}

void gather_nd(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &indices = *args[1].tensor;
  TupleReader tuples(indices, x.shape);
  for (size_t t = 0; t < tuples.count; ++t) {
    auto slice = tuples.slice(t);
    for (size_t i = 0; i < tuples.inner; ++i) {
      std::optional<size_t> from;
      if (slice) from = *slice * tuples.inner + i;
      put_read(outputs[0], t * tuples.inner + i, x, from, tuples.settled(t));
    }
  }
}

void one_hot(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& indices = *args[0].tensor;
  RefTensor& out = outputs[0];
  AxisView view(out.shape, *find_attr<int64_t>(attrs, "axis"));
  HostTensor values = HostTensor::zeros(out.dtype, {2});
  int64_t which = 0;
  for (const char* name : {"off_value", "on_value"}) {
    double value = *find_attr<double>(attrs, name);
    values.set_f64(which++, is_float(out.dtype) ? value : std::trunc(value));
  }
  RefTensor rounded = RefTensor::from(values);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      size_t element = o * view.inner + i;
      auto index = resolve(indices.integer(element), view.extent);
      for (size_t k = 0; k < view.extent; ++k) {
        size_t to = view.at(o, k, i);
        put_moved(out, to, rounded, index && *index == k ? 1 : 0);
        if (indices.bound[element] > 0) out.bound[to] = kInfinity;
      }
    }
  }
}

}  // namespace tapml::op::reference
