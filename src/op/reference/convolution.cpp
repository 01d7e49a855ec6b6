#include "op/reference/convolution.h"

#include "op/reference/dot.h"
#include "op/reference/sliding.h"

namespace tapml::op::reference {

namespace {

Shape spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// Calls f(kernel element, flat position in `in`) for the elements of the window at `at` that are
// inside.
template <class F>
void for_window(const Sliding& sliding, const Shape& in, const Shape& kernel,
                const std::vector<int64_t>& at, F&& f) {
  std::vector<int64_t> zero(kernel.size(), 0);
  std::vector<int64_t> tap(kernel.size(), 0);
  auto taps = static_cast<size_t>(element_count(kernel));
  for (size_t k = 0; k < taps; ++k) {
    int64_t flat = 0;
    bool inside = true;
    for (size_t d = 0; d < kernel.size(); ++d) {
      int64_t p = sliding.position(d, at[d], tap[d]);
      inside = inside && p >= 0 && p < in[d];
      flat = flat * in[d] + p;
    }
    if (inside) f(k, static_cast<size_t>(flat));
    advance(tap, kernel);
  }
}

}  // namespace

void convolution(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor;
  RefTensor& out = outputs[0];
  Shape in = spatial_of(x.shape), kernel = spatial_of(weight.shape), to = spatial_of(out.shape);
  Sliding sliding(attrs, in.size());
  auto groups = static_cast<size_t>(attr_or(attrs, "groups", int64_t{1}));
  auto channels = static_cast<size_t>(weight.shape[1]);
  auto filters = static_cast<size_t>(weight.shape[0]);
  auto points = static_cast<size_t>(element_count(to));
  auto pixels = static_cast<size_t>(element_count(in));
  auto taps = static_cast<size_t>(element_count(kernel));
  const ProductPolicy policy(x, weight, out, false);
  for (size_t line = 0; points > 0 && line < out.values.size() / points; ++line) {
    size_t image = line / filters, filter = line % filters;
    size_t first = image * channels * groups + filter / (filters / groups) * channels;
    std::vector<int64_t> at(to.size(), 0);
    for (size_t p = 0; p < points; ++p, advance(at, to)) {
      if (!out.wants(line * points + p)) continue;
      put_product_sum(out, line * points + p, x, weight, policy, [&](auto&& add) {
        for_window(sliding, in, kernel, at, [&](size_t tap, size_t pixel) {
          for (size_t c = 0; c < channels; ++c) {
            add((first + c) * pixels + pixel, (filter * channels + c) * taps + tap);
          }
        });
      });
    }
  }
}

void transposed_convolution(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor;
  RefTensor& out = outputs[0];
  Shape in = spatial_of(x.shape), kernel = spatial_of(weight.shape), to = spatial_of(out.shape);
  Sliding sliding(attrs, in.size());
  auto groups = static_cast<size_t>(attr_or(attrs, "groups", int64_t{1}));
  auto channels = static_cast<size_t>(x.shape[1]), filters = static_cast<size_t>(weight.shape[1]);
  auto points = static_cast<size_t>(element_count(to));
  auto pixels = static_cast<size_t>(element_count(in));
  auto taps = static_cast<size_t>(element_count(kernel));
  const ProductPolicy policy(x, weight, out, false);
  // The elements of the kernel and of the input that an output point takes, as the definition
  // scatters them: each input element contributes to the output elements that the convolution with
  // these attributes would have read for it.
  struct Term {
    size_t tap, pixel;
  };
  std::vector<std::vector<Term>> terms(points);
  std::vector<int64_t> from(in.size(), 0);
  for (size_t pixel = 0; pixel < pixels; ++pixel, advance(from, in)) {
    for_window(sliding, to, kernel, from,
               [&](size_t tap, size_t point) { terms[point].push_back({tap, pixel}); });
  }
  const size_t inputs = channels / groups;  // of a group
  for (size_t line = 0; points > 0 && line < out.values.size() / points; ++line) {
    const size_t image = line / (filters * groups), filter = line % filters;
    const size_t first = line / filters % groups * inputs;
    for (size_t point = 0; point < points; ++point) {
      if (!out.wants(line * points + point)) continue;
      put_product_sum(out, line * points + point, x, weight, policy, [&](auto&& add) {
        for (const Term& term : terms[point]) {
          for (size_t c = first; c < first + inputs; ++c) {
            add((image * channels + c) * pixels + term.pixel,
                (c * filters + filter) * taps + term.tap);
          }
        }
      });
    }
  }
}

}  // namespace tapml::op::reference
