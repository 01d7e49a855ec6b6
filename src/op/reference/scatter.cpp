// References of the operators that write elements at indices.
#include <algorithm>
#include <vector>

#include "op/reference/coordinates.h"
#include "op/reference/indexing.h"
#include "op/reference/repetition.h"
#include "op/reference/resolve.h"

namespace tapml::op::reference {

namespace {

// An element of x with all that is added to it, in any order: threads add when they get to it.
class AddedSum {
 public:
  explicit AddedSum(double first) : first_(first) { take(first); }
  void add(double term) {
    take(term);
    added_ += term;
    ++count_;
  }
  double value() const { return first_ + added_; }
  // Variance of its roundings: of the given order, of lanes, or of a random order, whichever has
  // the largest partial sums.
  double variance(double unit) const {
    const double given = rounding_.variance(unit, repeated_.factor());
    // Squares of the terms, and of their distances from a straight line.
    const double squares = rounding_.squares() - first_ * first_;
    const double apart = std::max(0.0, squares - added_ * added_ / count_);
    const double random = count_ * first_ * first_ + first_ * added_ * (count_ + 1) +
                          added_ * added_ * (count_ + 1) * (2 * count_ + 1) / (6 * count_) +
                          (count_ + 1) / 6 * apart;
    return std::max(given, rounding_variance(unit, 1) * random * repeated_.factor());
  }

 private:
  void take(double term) {
    rounding_.add(term);
    repeated_.add(term);
  }

  double first_, added_ = 0, count_ = 0;
  SumRounding rounding_;
  Repetition repeated_;
};

// x during writing. Float sums are computed at the end, one element after the other.
class Writer {
 public:
  Writer(const RefTensor& x, RefTensor& out, bool adds) : out_(out), adds_(adds) {
    for (size_t i = 0; i < x.values.size(); ++i) put_moved(out, i, x, i);
  }

  void write(size_t to, const RefTensor& updates, size_t from) {
    if (!adds_) return put_moved(out_, to, updates, from);
    updates_ = &updates;
    if (!is_float(out_.dtype)) {
      auto sum =
          static_cast<uint64_t>(out_.integer(to)) + static_cast<uint64_t>(updates.integer(from));
      put_integer(out_, to, static_cast<int64_t>(sum), out_.bound[to] + updates.bound[from]);
      return;
    }
    added_.push_back({to, from});
  }

  void finish() {
    std::ranges::stable_sort(added_, {}, &Addition::to);
    const double unit = compute_unit(out_.dtype);
    for (auto it = added_.begin(); it != added_.end();) {
      const size_t to = it->to;
      AddedSum sum(out_.values[to]);
      Error moved = error_of(out_, to);
      for (; it != added_.end() && it->to == to; ++it) {
        sum.add(updates_->values[it->from]);
        const Error error = error_of(*updates_, it->from);
        moved.systematic += error.systematic;
        moved.variance += error.variance;
      }
      put(out_, to, sum.value(), Error::of(moved.systematic, moved.variance + sum.variance(unit)));
    }
  }

 private:
  struct Addition {
    size_t to, from;
  };

  RefTensor& out_;
  bool adds_;
  const RefTensor* updates_ = nullptr;
  std::vector<Addition> added_;
};

void along_axis(const AttrMap& attrs, Args args, Outputs outputs, bool adds) {
  const RefTensor &x = *args[0].tensor, &indices = *args[1].tensor, &updates = *args[2].tensor;
  size_t axis = counted_from_front(*find_attr<int64_t>(attrs, "axis"), x.shape.size());
  Writer writer(x, outputs[0], adds);
  std::vector<Coordinates> open;
  each_element(indices.shape, [&](size_t element, Coordinates at) {
    if (indices.bound[element] > 0) open.push_back(at);
    auto index = resolve(indices.integer(element), static_cast<size_t>(x.shape[axis]));
    if (!index) return;
    at[axis] = static_cast<int64_t>(*index);
    writer.write(element_at(x.shape, at), updates, element);
  });
  writer.finish();
  for (Coordinates& line : open) {
    for (line[axis] = 0; line[axis] < x.shape[axis]; ++line[axis]) {
      outputs[0].bound[element_at(x.shape, line)] = kInfinity;
    }
  }
}

}  // namespace

void scatter(const AttrMap& attrs, Args args, Outputs outputs) {
  along_axis(attrs, args, outputs, false);
}

void scatter_add(const AttrMap& attrs, Args args, Outputs outputs) {
  along_axis(attrs, args, outputs, true);
}

void scatter_nd(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &indices = *args[1].tensor, &updates = *args[2].tensor;
  Writer writer(x, outputs[0], *find_attr<bool>(attrs, "accumulate"));
  TupleReader tuples(indices, x.shape);
  for (size_t t = 0; t < tuples.count; ++t) {
    auto slice = tuples.slice(t);
    if (!slice) continue;
    for (size_t i = 0; i < tuples.inner; ++i) {
      writer.write(*slice * tuples.inner + i, updates, t * tuples.inner + i);
    }
  }
  writer.finish();
  if (!is_exact(indices)) open_all(outputs[0]);
}

void index_put(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &values = *args[1].tensor;
  size_t depth = args.size() - 2;
  // The written shape: the indices' common shape, then the remaining dimensions of x.
  Shape written;
  bool settled = true;
  for (size_t d = 0; d < depth; ++d) {
    const RefTensor& indices = *args[2 + d].tensor;
    settled &= is_exact(indices);
    if (indices.shape.size() > written.size()) {
      written.insert(written.begin(), indices.shape.size() - written.size(), 1);
    }
    for (size_t k = 1; k <= indices.shape.size(); ++k) {
      int64_t dim = indices.shape[indices.shape.size() - k];
      if (dim != 1) written[written.size() - k] = dim;
    }
  }
  size_t common = written.size();
  written.insert(written.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(depth),
                 x.shape.end());
  // The element of `tensor`, whose dimensions align with the end of `at`.
  auto aligned = [](const RefTensor& tensor, const Coordinates& at) {
    Coordinates own(at.end() - static_cast<std::ptrdiff_t>(tensor.shape.size()), at.end());
    for (size_t d = 0; d < own.size(); ++d) {
      if (tensor.shape[d] == 1) own[d] = 0;
    }
    return element_at(tensor.shape, own);
  };
  Writer writer(x, outputs[0], *find_attr<bool>(attrs, "accumulate"));
  each_element(written, [&](size_t, const Coordinates& at) {
    Coordinates tuple(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(common)), to;
    for (size_t d = 0; d < depth; ++d) {
      const RefTensor& indices = *args[2 + d].tensor;
      auto index =
          resolve(indices.integer(aligned(indices, tuple)), static_cast<size_t>(x.shape[d]));
      if (!index) return;
      to.push_back(static_cast<int64_t>(*index));
    }
    to.insert(to.end(), at.begin() + static_cast<std::ptrdiff_t>(common), at.end());
    writer.write(element_at(x.shape, to), values, aligned(values, at));
  });
  writer.finish();
  if (!settled) open_all(outputs[0]);
}

}  // namespace tapml::op::reference
