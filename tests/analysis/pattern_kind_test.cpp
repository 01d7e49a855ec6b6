#include "analysis/pattern_kind.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::analysis {
namespace {

const tir::PrimFunc& only_function(const Module& module) {
  return *tir::as_prim_func(module.functions.begin()->second.get());
}

struct LoopsOfAKind {
  const char* name;
  const char* kind;
  const char* text;
};

class Pattern : public testing::TestWithParam<LoopsOfAKind> {};

TEST_P(Pattern, IsDerivedFromTheLoops) {
  Module module = text::parse(GetParam().text, "test");
  for (const Violation& v : find_violations(module)) ADD_FAILURE() << v.to_string();
  EXPECT_STREQ(pattern_kind_name(pattern_kind(only_function(module))), GetParam().kind);
}

const LoopsOfAKind kLoopsOfAKind[] = {
    {"Relu", "ElementWise",
     R"(prim def f(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) {
          for i in serial(n) { for j in serial(4) {
            block "relu" (vi: spatial(n) = i, vj: spatial(4) = j) {
              y[vi, vj] = max(x[vi, vj], f32(0)) } } } })"},
    {"AddOfTwo", "ElementWise",
     R"(prim def f(a: Buffer((n,), f32), b: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
          for i in parallel(n) { y[i] = a[i] + b[i] } })"},
    {"Fill", "ElementWise",
     "prim def f(out y: Buffer((n,), f32), n: i64) { for i in serial(n) { y[i] = f32(0) } }"},
    {"EqualShapesWrittenApart", "ElementWise",
     R"(prim def f(a: Buffer((n*2,), f32), out y: Buffer((n + n,), f32), n: i64) {
          for i in serial(n*2) { y[i] = a[i] } })"},
    {"DimensionOfOne", "ElementWise",
     R"(prim def f(a: Buffer((n, 1), f32), b: Buffer((n, 1), f32), out y: Buffer((n, 1), f32),
                   n: i64) {
          for i in serial(n) { for j in serial(1) { y[i, j] = a[i, 0] + b[i, j] } } })"},
    {"NewDimension", "Broadcast",
     R"(prim def f(a: Buffer((n,), f32), out y: Buffer((n, 1), f32), n: i64) {
          for i in serial(n) { y[i, 0] = a[i] } })"},
    {"BroadcastAdd", "Broadcast",
     R"(prim def f(a: Buffer((m, 1), f32), b: Buffer((n,), f32), out y: Buffer((m, n), f32),
                   m: i64, n: i64) {
          for i in serial(m) { for j in serial(n) {
            block "add" (vi: spatial(m) = i, vj: spatial(n) = j) {
              y[vi, vj] = a[vi, 0] + b[vj] } } } })"},
    {"BiasAdd", "Broadcast",
     R"(prim def f(a: Buffer((n, 4), f32), b: Buffer((4,), f32), out y: Buffer((n, 4), f32), n: i64) {
          for i in serial(n) { for j in serial(4) { y[i, j] = a[i, j] + b[j] } } })"},
    {"Transpose", "Injective",
     R"(prim def f(a: Buffer((4, n), f32), out y: Buffer((n, 4), f32), n: i64) {
          for i in serial(n) { for j in serial(4) { y[i, j] = a[j, i] } } })"},
    {"Reshape", "Injective",
     R"(prim def f(a: Buffer((n, 4), f32), out y: Buffer((n*4,), f32), n: i64) {
          for i in serial(n*4) { y[i] = a[i//4, i%4] } })"},
    {"SliceOfTheBeginning", "Injective",
     R"(prim def f(a: Buffer((8,), f32), out y: Buffer((4,), f32)) {
          for i in serial(4) { y[i] = a[i] } })"},
    {"Take", "Injective",
     R"(prim def f(t: Buffer((100, 8), bf16), x: Buffer((n,), i32), out y: Buffer((n, 8), f32),
                   n: i64) {
          for i in serial(n) { for j in serial(8) {
            y[i, j] = cast(f32, t[cast(i64, x[i]), j]) } } })"},
    {"HandWrittenRotaryEmbedding", "Injective",
     R"(prim def f(x: Buffer((n, h, 64), f32), c: Buffer((n, 32), f32), s: Buffer((n, 32), f32),
                   out y: Buffer((n, h, 64), f32), n: i64, h: i64) {
          for i in serial(n) { for k in serial(h) { for d in serial(64) {
            y[i, k, d] = x[i, k, d]*c[i, d%32]
                + select(d < 32, f32(0) - x[i, k, d + 32], x[i, k, d - 32])*s[i, d%32] } } } })"},
    {"Sum", "CommReduce",
     R"(prim def f(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { for r in serial(8) {
            block "sum" (vi: spatial(n) = i, vr: reduce(8) = r) {
              init { y[vi] = f32(0) }
              y[vi] = y[vi] + x[vi, vr] } } } })"},
    {"SumInPlainLoops", "CommReduce",
     R"(prim def f(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { y[i] = f32(0) for r in serial(8) { y[i] = y[i] + x[i, r] } } })"},
    {"MaxOfAll", "CommReduce",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((), f32), n: i64) {
          y[] = f32(-inf) for r in serial(n) { y[] = max(y[], x[r]) } })"},
    {"SumOfSquares", "CommReduce",
     R"(prim def f(x: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { for r in serial(8) {
            block "squares" (vi: spatial(n) = i, vr: reduce(8) = r) {
              init { y[vi] = f32(0) }
              y[vi] = y[vi] + x[vi, vr]*x[vi, vr] } } } })"},
    {"DotOfRows", "CommReduce",
     R"(prim def f(a: Buffer((n, 8), f32), b: Buffer((n, 8), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { y[i] = f32(0)
            for r in serial(8) { y[i] = y[i] + a[i, r]*b[i, r] } } })"},
    {"Matmul", "OutEWiseFusable",
     R"(prim def f(a: Buffer((n, 8), f32), w: Buffer((8, m), bf16), out y: Buffer((n, m), f32),
                   n: i64, m: i64) {
          for i in serial(n) { for j in serial(m) { for r in serial(8) {
            block "matmul" (vi: spatial(n) = i, vj: spatial(m) = j, vr: reduce(8) = r) {
              init { y[vi, vj] = f32(0) }
              y[vi, vj] = y[vi, vj] + a[vi, vr]*cast(f32, w[vr, vj]) } } } } })"},
    {"MatrixVectorByFma", "OutEWiseFusable",
     R"(prim def f(a: Buffer((n, 8), f32), x: Buffer((8,), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { y[i] = f32(0)
            for r in serial(8) { y[i] = fma(a[i, r], x[r], y[i]) } } })"},
    {"Convolution", "OutEWiseFusable",
     R"(prim def f(x: Buffer((n, 3, 34, 34), f32), w: Buffer((16, 3, 3, 3), f32),
                   out y: Buffer((n, 16, 32, 32), f32), n: i64) {
          for b in serial(n) { for o in serial(16) { for i in serial(32) { for j in serial(32) {
            for c in serial(3) { for p in serial(3) { for q in serial(3) {
              block "conv" (vb: spatial(n) = b, vo: spatial(16) = o, vi: spatial(32) = i,
                            vj: spatial(32) = j, vc: reduce(3) = c, vp: reduce(3) = p,
                            vq: reduce(3) = q) {
                init { y[vb, vo, vi, vj] = f32(0) }
                y[vb, vo, vi, vj] = y[vb, vo, vi, vj]
                    + x[vb, vc, vi + vp, vj + vq]*w[vo, vc, vp, vq] } } } } } } } } })"},
    {"MatmulWithCastAndBias", "OutEWiseFusable",
     R"(prim def f(a: Buffer((n, 8), f32), w: Buffer((8, 4), f32), b: Buffer((4,), f32),
                   out y: Buffer((n, 4), bf16), n: i64) {
          alloc t: Buffer((n, 4), f32)
          for i in serial(n) { for j in serial(4) { for r in serial(8) {
            block "matmul" (vi: spatial(n) = i, vj: spatial(4) = j, vr: reduce(8) = r) {
              init { t[vi, vj] = f32(0) }
              t[vi, vj] = t[vi, vj] + a[vi, vr]*w[vr, vj] } } } }
          for i in serial(n) { for j in serial(4) { y[i, j] = cast(bf16, t[i, j] + b[j]) } } })"},
    {"TwoElementWiseSteps", "ElementWise",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
          alloc t: Buffer((n,), f32)
          for i in serial(n) { t[i] = exp(x[i]) }
          for i in serial(n) { y[i] = t[i] + f32(1) } })"},
    {"Softmax", "Opaque",
     R"(prim def f(x: Buffer((n, 8), f32), out y: Buffer((n, 8), f32), n: i64) {
          alloc m: Buffer((n,), f32)
          alloc s: Buffer((n,), f32)
          for i in serial(n) { m[i] = f32(-inf) for r in serial(8) { m[i] = max(m[i], x[i, r]) } }
          for i in serial(n) { s[i] = f32(0)
            for r in serial(8) { s[i] = s[i] + exp(x[i, r] - m[i]) } }
          for i in serial(n) { for j in serial(8) { y[i, j] = exp(x[i, j] - m[i]) / s[i] } } })"},
    {"Normalization", "Opaque",
     R"(prim def f(x: Buffer((n, 8), f32), out y: Buffer((n, 8), f32), n: i64) {
          alloc s: Buffer((n,), f32)
          for i in serial(n) { s[i] = f32(0) for r in serial(8) { s[i] = s[i] + x[i, r] } }
          for i in serial(n) { for j in serial(8) { y[i, j] = x[i, j] / s[i] } } })"},
    {"InPlaceUpdate", "Opaque",
     R"(prim def f(inout x: Buffer((n,), f32), n: i64) {
          for i in serial(n) { x[i] = f32(0) } })"},
    {"ConditionalStore", "Opaque",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { if f32(0) < x[i] { y[i] = x[i] } } })"},
    {"ScatteredStore", "Opaque",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((n*2,), f32), n: i64) {
          for i in serial(n) { y[i*2] = x[i] } })"},
    {"TwoOutputs", "Opaque",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64) {
          for i in serial(n) { y[i] = x[i] z[i] = x[i] } })"},
    {"DependenceOnTheNeighbour", "Opaque",
     R"(prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
          for i in serial(n) { y[i] = y[max(i - 1, 0)] + x[i] } })"},
};

INSTANTIATE_TEST_SUITE_P(All, Pattern, testing::ValuesIn(kLoopsOfAKind),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tapml::analysis
