// Functions made by passes have the symbol ranges that their text declares.
#include "relax/symbol_ranges.h"

#include <gtest/gtest.h>

#include "ir/symbol.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

constexpr const char* kPrograms = R"(module
prim def shift(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64, k: i64) {
  for i in parallel(n) { y[i] = x[(i + k) % n] }
}
def main(x: Tensor((n, m), f32), z: Tensor((n*m,), f32), w: Prim(i64, k), s: Shape((a, b))) -> Object {
  y: Tensor((n, m), f32) = exp(x)
  r: Tensor((n*m,), f32) = reshape(y, shape(n*m))
  t: Tensor((n*m,), f32) = add(r, z)
  h: Tensor((n*m,), f32) = call_tir(@shift, (t,), shape(k), Tensor((n*m,), f32))
  f: Tensor((a, max(k, 0)), f32) = full(shape(a, max(k, 0))) {dtype: f32, value: 1.0}
  g: Tensor((a, max(k, 0)), f32) = exp(f)
  c: Tensor((n + 1,), f32) = full(shape(n + 1)) {dtype: f32, value: 1.0}
  d: Tensor((n + 1,), f32) = exp(c)
  found: Tensor(ndim=2, i32) = nonzero(x)
  q: Tensor((j, 2), i32) = match_cast(found, Tensor((j, 2), i32))
  p: Tensor((j, 2), i32) = add(q, q)
  e: Tensor((n, m), f32) = for i in range(k, b) (v: Tensor((n, m), f32) = y) {
    u: Tensor((1, m), f32) = slice(v, shape(i%n), shape(i%n + 1)) {axes: [0]}
    o: Tensor((n, m), f32) = add(v, u)
    yield o
  }
  return (h, g, d, p, e)
})";

std::map<std::string, std::string> ranges_of(const Module& module) {
  std::map<std::string, std::string> ranges;
  for (const auto& [name, base] : module.functions) {
    const relax::Function* function = relax::as_relax_function(base.get());
    if (!function) continue;
    for (const Var& var : relax::signature_vars(*function)) {
      const std::optional<int64_t> least = least_value(var);
      // Without the names, which the printer may change.
      ranges[name] += (least ? std::to_string(*least) : "-") + " ";
    }
  }
  return ranges;
}

TEST(SymbolRangesOfKernels, AgreeWithTheirText) {
  const Module fixed = pipeline::form_kernels(text::parse(kPrograms, "programs"));
  const auto made = ranges_of(fixed), read = ranges_of(text::parse(text::print(fixed), "printed"));
  EXPECT_EQ(made, read);
  size_t free = 0, sizes = 0;
  for (const auto& [name, text] : made) {
    free += text.find("- ") != std::string::npos;
    sizes += text.find("0 ") != std::string::npos;
  }
  EXPECT_GE(free, 3U) << ::testing::PrintToString(made);
  EXPECT_GE(sizes, 5U) << ::testing::PrintToString(made);
}

}  // namespace
}  // namespace tapml
