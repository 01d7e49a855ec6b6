#include "text/printer.h"

#include <gtest/gtest.h>

#include <limits>

#include "relax/visit.h"
#include "text/literals.h"
#include "text/structural.h"
#include "tir/builder.h"

namespace tapml::text {
namespace {

using relax::Binding;
using relax::Block;

relax::FunctionRef example_function(const std::string& symbol = "n", const std::string& x = "x") {
  Var n = make_var(symbol);
  auto f32 = DType::kF32;
  auto input = relax::make_variable(x, relax::tensor_annotation({n, 4}, f32));
  auto weight = relax::make_variable("w", relax::tensor_annotation({4, 8}, f32));
  auto product = relax::make_variable("lv", relax::tensor_annotation({n, 8}, f32), true);
  auto out = relax::make_variable("lv", relax::tensor_annotation({n, 8}, f32));
  Block block{true,
              {Binding{product,
                       relax::make_op_call("matmul", {input, weight}, {{"t", false}}),
                       nullptr,
                       {"layers.0.mlp"}},
               Binding{out,
                       relax::make_op_call("call_tir",
                                           {relax::make_global("relu"),
                                            relax::make_tuple({product}), relax::make_shape({n})},
                                           {}, {relax::tensor_annotation({n, 8}, f32)}),
                       nullptr,
                       {}}}};
  return relax::make_function({input, weight}, relax::make_seq({block}, out),
                              relax::tensor_annotation({n, 8}, f32), {{"kernel", true}});
}

tir::PrimFuncRef example_prim() {
  Var n = make_var("n");
  auto a = tir::make_buffer("a", DType::kF32, {n, 4});
  auto w = tir::make_buffer("w", DType::kF32, {4, 8});
  auto b = tir::make_buffer("b", DType::kF32, {n, 8});
  tir::Stmt body = tir::reduce(
      "matmul", b, {4}, make_float(0, DType::kF32), [](PrimExpr x, PrimExpr y) { return x + y; },
      [&](const std::vector<Var>& s, const std::vector<Var>& r) {
        return tir::load(a, {s[0], r[0]}) * tir::load(w, {r[0], s[1]});
      });
  return tir::make_prim_func({{a, AccessMode::kIn}, {w, AccessMode::kIn}, {b, AccessMode::kOut}},
                             body);
}

TEST(Printer, GraphFunction) {
  Module module;
  module.facts.phase = "import";
  module.functions["main"] = example_function();
  EXPECT_EQ(print(module), R"(module {phase: "import"}

def main(x: Tensor((n, 4), f32), w: Tensor((4, 8), f32)) -> Tensor((n, 8), f32) {kernel: true} {
  dataflow {
    lv: Tensor((n, 8), f32) = matmul(x, w) {t: false} @origin("layers.0.mlp")
    lv_1: Tensor((n, 8), f32) = call_tir(@relu, (lv,), shape(n), Tensor((n, 8), f32))
    output lv_1
  }
  return lv_1
}
)");
}

TEST(Printer, TensorProgram) {
  EXPECT_EQ(print(*example_prim(), "matmul"),
            R"(prim def matmul(
    a: Buffer((n, 4), f32),
    w: Buffer((4, 8), f32),
    out b: Buffer((n, 8), f32),
    n: i64
) {
  for i in serial(n) {
    for j in serial(8) {
      for r in serial(4) {
        block "matmul" (vi: spatial(n) = i, vj: spatial(8) = j, vr: reduce(4) = r) {
          reads b[vi, vj], a[vi, vr], w[vr, vj]
          writes b[vi, vj]
          init {
            b[vi, vj] = f32(0.0)
          }
          b[vi, vj] = b[vi, vj] + a[vi, vr]*w[vr, vj]
        }
      }
    }
  }
}
)");
}

TEST(Printer, FloatsAreShortestAndExact) {
  EXPECT_EQ(format_float(1), "1.0");
  EXPECT_EQ(format_float(-0.0), "-0.0");
  EXPECT_EQ(format_float(0.1), "0.1");
  EXPECT_EQ(format_float(1e22), "1e+22");
  EXPECT_EQ(format_float(0.1f, DType::kF32), "0.1");
  EXPECT_EQ(format_float(0.1, DType::kF32), "0x1.999999999999ap-4");
  EXPECT_EQ(format_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(format_float(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(*parse_float_digits("0.1", DType::kF32), static_cast<double>(0.1f));
  EXPECT_EQ(*parse_float_digits("0x1.999999999999ap-4", DType::kF32), 0.1);
  EXPECT_FALSE(parse_float_digits("1.5x"));
}

TEST(Structural, VariablesMayBeRenamed) {
  EXPECT_TRUE(structural_equal(*example_function("n", "x"), *example_function("m", "y")));
  EXPECT_EQ(structural_hash(*example_function("n", "x")), structural_hash(*example_function("m")));
  EXPECT_TRUE(structural_equal(*example_prim(), *example_prim()));
  EXPECT_EQ(structural_hash(*example_prim()), structural_hash(*example_prim()));
}

TEST(Structural, HashesStayTheSame) {
  // Kernel names, and thus suites and caches, depend on these.
  EXPECT_EQ(structural_hash(*example_function()), 6578100039305420002u);
  EXPECT_EQ(structural_hash(*example_prim()), 7126918821060051321u);
}

TEST(Structural, NamesTheFirstDifference) {
  Module a, b;
  a.functions["main"] = example_function();
  auto changed = std::make_shared<relax::Function>(*example_function());
  auto seq = std::make_shared<relax::SeqNode>(relax::body_of(*changed));
  seq->blocks[0].bindings[0].value =
      relax::make_op_call("add", {changed->params[0], changed->params[1]}, {{"t", false}});
  changed->body = seq;
  b.functions["main"] = changed;
  std::string difference;
  EXPECT_FALSE(structural_equal(a, b, {.difference = &difference}));
  EXPECT_EQ(difference, "function main > block 0 > binding lv: op \"matmul\" and op \"add\"");
  EXPECT_NE(structural_hash(a), structural_hash(b));
}

TEST(Structural, OriginsCountOnlyOnRequest) {
  auto a = example_function();
  auto b = std::make_shared<relax::Function>(*a);
  auto seq = std::make_shared<relax::SeqNode>(relax::body_of(*b));
  seq->blocks[0].bindings[0].origin = {"elsewhere"};
  b->body = seq;
  EXPECT_TRUE(structural_equal(*a, *b));
  EXPECT_FALSE(structural_equal(*a, *b, {.origins = true}));
}

}  // namespace
}  // namespace tapml::text
