// Repeated computations: programs before and after the pass, and what must stay.
#include "passes/common_subexpressions.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

// Chains of equal calls are merged together.
TEST(CommonSubexpressions, BecomeOneCall) {
  expect_becomes(eliminate_common_subexpressions, R"(
def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    b: Tensor((n, 4), f32) = exp(x)
    c: Tensor((n, 4), f32) = add(a, b)
    d: Tensor((n, 4), f32) = add(b, b)
    e: Tensor((n, 4), f32) = add(a, a)
    f: Tensor((n, 2), f32) = slice(e, shape(0, 0), shape(n, 2))
    g: Tensor((n, 2), f32) = slice(d, shape(0, 2), shape(n, 4))
    h: Tensor((n, 4), f32) = concat((f, g)) {axis: 1}
    r: Tensor((n, 4), f32) = add(h, c)
    output r
  }
  return r
}
)",
                 R"(
def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    c: Tensor((n, 4), f32) = add(a, a)
    f: Tensor((n, 2), f32) = slice(c, shape(0, 0), shape(n, 2))
    g: Tensor((n, 2), f32) = slice(c, shape(0, 2), shape(n, 4))
    h: Tensor((n, 4), f32) = concat((f, g)) {axis: 1}
    r: Tensor((n, 4), f32) = add(h, c)
    output r
  }
  return r
}
)");
}

// What is expanded in its reader would be stored if two readers shared it.
TEST(CommonSubexpressions, LeaveExpandedWeightsWithTheirReaders) {
  const char* const program = R"(
def main(q: Tensor((n, 8), i8), s: Tensor((n, 2), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = dequantize(q, s) {dtype: f32, group: 4}
    b: Tensor((n, 8), f32) = dequantize(q, s) {dtype: f32, group: 4}
    c: Tensor((n, 8), f32) = add(a, b)
    output c
  }
  return c
}
)";
  expect_becomes(eliminate_common_subexpressions, program, program);
}

TEST(CommonSubexpressions, KeepTheLayersOfBoth) {
  expect_becomes(eliminate_common_subexpressions, R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x) @origin("layers.0")
    b: Tensor((n,), f32) = exp(x) @origin("layers.1")
    y: Tensor((n,), f32) = add(a, b)
    output y
  }
  return y
}
)",
                 R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x) @origin("layers.0", "layers.1")
    y: Tensor((n,), f32) = add(a, a)
    output y
  }
  return y
}
)");
}

// Other attributes or another operator prevent merging; a branch reuses values from before it.
TEST(CommonSubexpressions, OtherCallsStay) {
  expect_becomes(eliminate_common_subexpressions, R"(
def main(c: Prim(bool), x: Tensor((n, 4), f32)) -> Tensor((4,), f32) {
  dataflow {
    a: Tensor((4,), f32) = sum(x) {axes: [0]}
    b: Tensor((n,), f32) = sum(x) {axes: [1]}
    d: Tensor((4,), f32) = max(x) {axes: [0]}
    output a, b, d
  }
  r: Tensor((4,), f32) = if (c) {
    e: Tensor((4,), f32) = sum(x) {axes: [0]}
    yield e
  } else {
    f: Tensor((4,), f32) = exp(d)
    yield f
  }
  g: Tensor((4,), f32) = exp(d)
  h: Tensor((4,), f32) = add(r, g)
  i: Tensor((4,), f32) = add(h, a)
  return i
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((n, 4), f32)) -> Tensor((4,), f32) {
  dataflow {
    a: Tensor((4,), f32) = sum(x) {axes: [0]}
    b: Tensor((n,), f32) = sum(x) {axes: [1]}
    d: Tensor((4,), f32) = max(x) {axes: [0]}
    output a, b, d
  }
  r: Tensor((4,), f32) = if (c) {
    yield a
  } else {
    f: Tensor((4,), f32) = exp(d)
    yield f
  }
  g: Tensor((4,), f32) = exp(d)
  h: Tensor((4,), f32) = add(r, g)
  i: Tensor((4,), f32) = add(h, a)
  return i
}
)");
}

TEST(CommonSubexpressions, ImpureFunctionsStay) {
  expect_stays(eliminate_common_subexpressions, R"(
impure def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = exp(x)
  u: Tuple() = assign(a, x)
  y: Tensor((n,), f32) = add(a, b)
  return y
}
)");
}

// A value that a branch computes is not available after it, nor in the other branch.
TEST(CommonSubexpressions, StayInTheirBranch) {
  const std::string source = R"(
def main(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = if (c) {
    d: Tensor((n,), f32) = negative(a)
    yield d
  } else {
    e: Tensor((n,), f32) = negative(a)
    f: Tensor((n,), f32) = add(e, a)
    yield f
  }
  g: Tensor((n,), f32) = negative(a)
  r: Tensor((n,), f32) = add(b, g)
  return r
}
)";
  expect_stays(eliminate_common_subexpressions, source);
}

// The same if the branch computes what a dataflow block had for itself.
TEST(CommonSubexpressions, StayInTheirBranchAfterALocalValue) {
  expect_stays(eliminate_common_subexpressions, R"(
def main(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = negative(a)
    output b
  }
  d: Tensor((n,), f32) = if (c) {
    e: Tensor((n,), f32) = exp(x)
    f: Tensor((n,), f32) = add(e, b)
    yield f
  } else {
    g: Tensor((n,), f32) = exp(x)
    h: Tensor((n,), f32) = add(b, g)
    yield h
  }
  i: Tensor((n,), f32) = exp(x)
  r: Tensor((n,), f32) = add(d, i)
  return r
}
)");
}

TEST(CommonSubexpressions, UpdatedTensorsAreNotShared) {
  const std::string pool = "Tensor((p, 2, 1, 4), f32)";
  const std::string source =
      "def main(rows: Tensor((1, 1, 1, 4), f32), table: Tensor((1, q), i32),"
      " lengths: Tensor((1,), i32), old: " +
      pool + ") -> Tuple(" + pool + ", " + pool +
      ") {\n  dataflow {\n"
      "    a: " +
      pool +
      " = zeros_like(old)\n"
      "    b: " +
      pool +
      " = zeros_like(old)\n"
      "    c: " +
      pool +
      " = kv_append(a, rows, table, lengths)\n"
      "    d: " +
      pool +
      " = exp(b)\n"
      "    output c, d\n  }\n  return (c, d)\n}\n";
  Module before = text::parse(source, "test");
  analysis::verify(before);
  EXPECT_EQ(text::print(eliminate_common_subexpressions(before)), text::print(before));
}

}  // namespace
}  // namespace tapml::passes
