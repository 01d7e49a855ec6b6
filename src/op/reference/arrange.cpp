// References of the operators that change a tensor's shape or order.
#include "op/reference/arrange.h"

#include <numeric>

#include "op/reference/coordinates.h"

namespace tapml::op::reference {

namespace {

int64_t integer(const AttrMap& attrs, const char* name) { return *find_attr<int64_t>(attrs, name); }

// out[at] = x[source(at)]
template <class F>
void pull(const RefTensor& x, RefTensor& out, F&& source) {
  each_element(out.shape, [&](size_t element, const Coordinates& at) {
    put_moved(out, element, x, element_at(x.shape, source(at)));
  });
}

// out[target(at)] = x[at]
template <class F>
void push(const RefTensor& x, RefTensor& out, F&& target) {
  each_element(x.shape, [&](size_t element, const Coordinates& at) {
    put_moved(out, element_at(out.shape, target(at)), x, element);
  });
}

}  // namespace

void same_elements(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) put_moved(outputs[0], i, x, i);
}

void broadcast_to(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  pull(x, outputs[0], [&](const Coordinates& at) {
    Coordinates from(at.end() - static_cast<std::ptrdiff_t>(x.shape.size()), at.end());
    for (size_t d = 0; d < from.size(); ++d) {
      if (x.shape[d] == 1) from[d] = 0;
    }
    return from;
  });
}

void flip(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  const auto& axes = ints(attrs, "axes");
  std::vector<bool> reversed(x.shape.size(), axes.empty());
  for (int64_t axis : axes) reversed[counted_from_front(axis, x.shape.size())] = true;
  push(x, outputs[0], [&](Coordinates at) {
    for (size_t d = 0; d < at.size(); ++d) {
      if (reversed[d]) at[d] = x.shape[d] - 1 - at[d];
    }
    return at;
  });
}

void roll(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  const auto &axes = ints(attrs, "axes"), &shifts = ints(attrs, "shifts");
  auto count = static_cast<int64_t>(x.values.size());
  if (axes.empty()) {
    for (int64_t i = 0; i < count; ++i) {
      put_moved(outputs[0], static_cast<size_t>(wrapped(i + wrapped(shifts[0], count), count)), x,
                static_cast<size_t>(i));
    }
    return;
  }
  push(x, outputs[0], [&](Coordinates at) {
    for (size_t a = 0; a < axes.size(); ++a) {
      size_t axis = counted_from_front(axes[a], x.shape.size());
      at[axis] = wrapped(at[axis] + wrapped(shifts[a], x.shape[axis]), x.shape[axis]);
    }
    return at;
  });
}

void tile(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  pull(x, outputs[0], [&](const Coordinates& at) {
    Coordinates from(at.end() - static_cast<std::ptrdiff_t>(x.shape.size()), at.end());
    for (size_t d = 0; d < from.size(); ++d) from[d] %= x.shape[d];
    return from;
  });
}

void repeat(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  AxisView in(x.shape, integer(attrs, "axis")), out(outputs[0].shape, integer(attrs, "axis"));
  auto copies = static_cast<size_t>(integer(attrs, "repeats"));
  for (size_t o = 0; o < in.outer; ++o) {
    for (size_t k = 0; k < in.extent; ++k) {
      for (size_t copy = 0; copy < copies; ++copy) {
        for (size_t i = 0; i < in.inner; ++i) {
          put_moved(outputs[0], out.at(o, k * copies + copy, i), x, in.at(o, k, i));
        }
      }
    }
  }
}

void stack(const AttrMap& attrs, Args args, Outputs outputs) {
  AxisView view(outputs[0].shape, integer(attrs, "axis"));
  for (size_t f = 0; f < args.size(); ++f) {
    for (size_t o = 0; o < view.outer; ++o) {
      for (size_t i = 0; i < view.inner; ++i) {
        put_moved(outputs[0], view.at(o, f, i), *args[f].tensor, o * view.inner + i);
      }
    }
  }
}

void swap_axes(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  size_t a = counted_from_front(integer(attrs, "axis1"), x.shape.size());
  size_t b = counted_from_front(integer(attrs, "axis2"), x.shape.size());
  push(x, outputs[0], [&](Coordinates at) {
    std::swap(at[a], at[b]);
    return at;
  });
}

void move_axis(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  size_t from = counted_from_front(integer(attrs, "source"), x.shape.size());
  size_t to = counted_from_front(integer(attrs, "destination"), x.shape.size());
  push(x, outputs[0], [&](const Coordinates& at) {
    Coordinates target;
    for (size_t d = 0; d < at.size(); ++d) {
      if (d != from) target.push_back(at[d]);
    }
    target.insert(target.begin() + static_cast<std::ptrdiff_t>(to), at[from]);
    return target;
  });
}

}  // namespace tapml::op::reference
