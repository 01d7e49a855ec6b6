// Views and writes that become kernels: programs before and after the pass.
#include "passes/lower_storage.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "support/expect_error.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

// The number of calls of operator `op` in a function.
int count_calls(const Module& module, const std::string& function, const std::string& op) {
  int count = 0;
  const relax::Function* source = relax::as_relax_function(module.find(function));
  relax::visit_bindings(source->body, [&](const relax::Binding& binding, bool) {
    count += relax::called_operator(binding.value) == op ? 1 : 0;
  });
  return count;
}

TEST(LowerStorage, AnAssignmentIsAnUpdateInPlace) {
  const Module module = through({lower_storage}, R"(
impure def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> Tuple() {
  a: Tensor((n, 4), f32) = exp(y)
  w: Tuple() = assign(x, a)
  return w
})");
  EXPECT_TRUE(text::structural_equal(module, text::parse(R"(
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
})",
                                                         "after")))
      << text::print(module);
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

TEST(LowerStorage, RefusesTensorsWithoutARank) {
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
