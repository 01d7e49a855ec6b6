// Passes over functions that write.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "checked.h"
#include "passes/common_subexpressions.h"
#include "passes/inline_functions.h"
#include "passes/lower_storage.h"
#include "passes/simplify_graph.h"
#include "relax/visit.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

// What the pass alone makes, by its structure.
void expect_result(Pass pass, const std::string& before, const std::string& after) {
  Module result = pass(text::parse(before, "before"));
  analysis::verify(result, "pass");
  build::check_annotations(result, "pass");
  EXPECT_TRUE(text::structural_equal(result, text::parse(after, "after"))) << text::print(result);
}

int count_calls(const Module& module, const std::string& function, const std::string& op) {
  int count = 0;
  const relax::Function* source = relax::as_relax_function(module.find(function));
  relax::visit_bindings(source->body, [&](const relax::Binding& binding, bool) {
    count += relax::called_operator(binding.value) == op ? 1 : 0;
  });
  return count;
}

TEST(Storage, WhatNoWriteReachesIsSimplified) {
  expect_result(simplify_graph, R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = multiply(a, const(f32, (), [1.0]))
  c: Tensor((n,), f32) = tanh(b)
  w: Tuple() = assign(y, c)
  return w
})",
                R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  c: Tensor((n,), f32) = tanh(a)
  w: Tuple() = assign(y, c)
  return w
})");
}

TEST(Storage, ATensorThatIsWrittenKeepsItsOwnStorage) {
  const char* text = R"(
impure def main(x: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = multiply(a, const(f32, (), [1.0]))
  v: Tensor((n,), f32) = view_slice(b, shape(0), shape(n))
  w: Tuple() = assign(v, x)
  c: Tensor((n,), f32) = tanh(a)
  return c
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, ReadsDoNotMoveAcrossWrites) {
  const char* text = R"(
impure def main(x: Tensor((n, m), f32), y: Tensor((n, m), f32)) -> Object {
  a: Tensor((n, m), f32) = exp(x)
  p: Tensor((m, n), f32) = permute(a) {axes: [1, 0]}
  w: Tuple() = assign(a, y)
  q: Tensor((n, m), f32) = permute(p) {axes: [1, 0]}
  r: Tensor((n, m), f32) = tanh(q)
  return r
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, WhatTheCallerMayWriteIsNoOtherName) {
  const char* text = R"(
def same(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = multiply(x, const(f32, (), [1.0]))
  return y
}
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  z: Tensor((n,), f32) = @same(x)
  w: Tuple() = assign(x, y)
  return z
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, EqualCallsAreOneWhereNothingIsWritten) {
  expect_result(eliminate_common_subexpressions, R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  s: Tensor((n,), f32) = full(shape(n)) {value: 2.0, dtype: f32}
  a: Tensor((n,), f32) = exp(s)
  w: Tuple() = assign(y, a)
  b: Tensor((n,), f32) = exp(s)
  c: Tensor((n,), f32) = tanh(b)
  d: Tensor((n,), f32) = exp(y)
  e: Tensor((n,), f32) = add(c, d)
  return e
})",
                R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  s: Tensor((n,), f32) = full(shape(n)) {value: 2.0, dtype: f32}
  a: Tensor((n,), f32) = exp(s)
  w: Tuple() = assign(y, a)
  c: Tensor((n,), f32) = tanh(a)
  d: Tensor((n,), f32) = exp(y)
  e: Tensor((n,), f32) = add(c, d)
  return e
})");
}

TEST(Storage, EqualCallsAroundAWriteStay) {
  const char* text = R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  w: Tuple() = assign(x, y)
  b: Tensor((n,), f32) = exp(x)
  c: Tensor((n,), f32) = add(a, b)
  return c
})";
  expect_result(eliminate_common_subexpressions, text, text);
}

TEST(Storage, AConstantThatAnInlinedFunctionWritesIsAVariable) {
  const std::string write = R"(
impure def write(a: Tensor((2,), f32), x: Tensor((2,), f32)) -> Tensor((2,), f32) {inline: true} {
  w: Tuple() = assign(a, x)
  return a
})";
  expect_result(inline_functions, R"(
impure def main(x: Tensor((2,), f32)) -> Object {
  a: Tensor((2,), f32) = @write(const(f32, (2,), [1.0, 2.0]), x)
  return a
})" + write,
                R"(
impure def main(x: Tensor((2,), f32)) -> Object {
  c: Tensor((2,), f32) = const(f32, (2,), [1.0, 2.0])
  w: Tuple() = assign(c, x)
  a: Tensor((2,), f32) = c
  return a
})" + write);
}

TEST(LowerStorage, AnAssignmentIsAnUpdateInPlace) {
  expect_result(lower_storage, R"(
impure def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Tuple() {
  a: Tensor((n, 4), f32) = exp(y)
  w: Tuple() = assign(x, a)
  return w
})",
                R"(
impure def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Tuple() {
  a: Tensor((n, 4), f32) = exp(y)
  base: Tensor(ndim=1, f32) = storage.base(x)
  all: Tensor((n*4,), f32) = match_cast(base, Tensor((n*4,), f32))
  done: Tensor((n*4,), f32) = call_tir_inplace(@write_view_f32_2, (all, a), shape(0, 4, 1), Tensor((n*4,), f32)) {inout_indices: [0]}
  w: Tuple() = ()
  return w
}
prim def write_view_f32_2(inout base: Buffer((size,), f32), values: Buffer((d0, d1), f32), size: i64, d0: i64, d1: i64, first: i64, s0: i64, s1: i64) {
  for i in serial(d0) {
    for j in serial(d1) {
      block "write_view" (vi: spatial(d0) = i, vj: spatial(d1) = j) {
        reads values[vi, vj]
        writes base[first + vi*s0 + vj*s1]
        base[first + vi*s0 + vj*s1] = values[vi, vj]
      }
    }
  }
})");
}

TEST(LowerStorage, AViewIsReadOnceBetweenWrites) {
  Module module = lower_storage(text::parse(R"(
impure def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Object {
  t: Tensor((4, n), f32) = view_transpose(x) {axes: [1, 0]}
  dataflow {
    a: Tensor((4, n), f32) = exp(t)
    b: Tensor((4, n), f32) = tanh(t)
    c: Tensor((4, n), f32) = add(a, b)
    output c
  }
  w: Tuple() = assign(x, y)
  d: Tensor((4, n), f32) = add(c, t)
  return d
})",
                                            "test"));
  analysis::verify(module, "lower_storage");
  build::check_annotations(module, "lower_storage");
  EXPECT_EQ(count_calls(module, "main", "storage.is_tensor"), 2) << text::print(module);
  EXPECT_EQ(count_calls(module, "main", "call_tir"), 2);
}

TEST(LowerStorage, RowsNeedNoCopy) {
  Module module = lower_storage(text::parse(R"(
impure def main(x: Tensor((n, 4), f32)) -> Object {
  v: Tensor((2, 4), f32) = view_slice(x, shape(1, 0), shape(2, 4))
  r: Tensor((8,), f32) = view_reshape(v, shape(8))
  y: Tensor((8,), f32) = exp(r)
  return y
})",
                                            "test"));
  EXPECT_EQ(count_calls(module, "main", "call_tir"), 0) << text::print(module);
  EXPECT_EQ(count_calls(module, "main", "storage.is_tensor"), 0);
}

TEST(LowerStorage, ModulesWithoutStorageOperatorsStay) {
  Module module = text::parse(R"(
def main(x: Tensor((n,), f32)) -> Object {
  y: Tensor((n,), f32) = exp(x)
  return y
})",
                              "test");
  EXPECT_EQ(lower_storage(module).functions.at("main"), module.functions.at("main"));
}

TEST(LowerStorage, RefusesWhatHasNoRank) {
  testing::expect_user_error(
      [] {
        lower_storage(text::parse(R"(
impure def main(x: Tensor(), y: Tensor()) -> Object {
  w: Tuple() = assign(x, y)
  return w
})",
                                  "test"));
      },
      {"a tensor that is written or copied has no known rank and dtype", "variable y"});
}

}  // namespace
}  // namespace tapml::passes
