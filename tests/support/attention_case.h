// Attention over contexts of many pages.
#pragma once

#include "support/kernel_cases.h"

namespace tapml::testing {

// b rows of n tokens, 4 query heads on 2 key-value heads of `width`, pages of 16 positions: t pages
// per row, which already has `before` positions.
inline KernelProgram long_attention(DType cache, int64_t width, std::vector<Sizes> sizes) {
  const Fill table = [](HostTensor& tensor, const Sizes&) {
    // Every page once, in mixed order.
    const int64_t pages = tensor.size();
    for (int64_t i = 0; i < pages; ++i) {
      tensor.set_f64(i, static_cast<double>((i * 7 + 3) % pages));
    }
  };
  const Fill lengths = [](HostTensor& tensor, const Sizes& at) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set_f64(i, static_cast<double>(std::max<int64_t>(0, at.at("before") - i)));
    }
  };
  Var b = make_var("b"), n = make_var("n"), p = make_var("p"), t = make_var("t");
  KernelMaker m(std::string("attention_") + dtype_name(cache));
  // Large scores: the maximum rises in many blocks.
  relax::Variable q = m.param({b, n, 4, width}, kF32, uniform(-6, 6));
  relax::Variable keys = m.param({p, 16, 2, width}, cache, uniform(-4, 4));
  relax::Variable held = m.param({p, 16, 2, width}, cache);
  m.op("paged_attention",
       {q, keys, held, m.param({b, t}, kI32, table), m.param({b}, kI32, lengths)},
       {{"scale", 0.5}});
  return m.single(std::move(sizes));
}

inline std::vector<Sizes> attention_sizes() {
  std::vector<Sizes> result;
  // No number of pages is divisible by 7, so a table has each page once.
  for (int64_t before : {0, 1, 15, 62, 63, 64, 254, 255, 256, 257, 500, 770}) {
    result.push_back({{"b", 1}, {"n", 1}, {"t", 50}, {"p", 50}, {"before", before}});
  }
  result.push_back({{"b", 2}, {"n", 3}, {"t", 20}, {"p", 40}, {"before", 300}});
  result.push_back({{"b", 1}, {"n", 2}, {"t", 4}, {"p", 4}, {"before", 30}});
  result.push_back({{"b", 0}, {"n", 2}, {"t", 4}, {"p", 4}, {"before", 30}});
  result.push_back({{"b", 1}, {"n", 0}, {"t", 4}, {"p", 4}, {"before", 30}});
  return result;
}

}  // namespace tapml::testing
