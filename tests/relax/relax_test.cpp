#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "relax/kernel_call.h"
#include "relax/rewrite.h"
#include "relax/visit.h"
#include "support/dtypes.h"

namespace tapml::relax {
namespace {

using testing::kF32;

TEST(AnnotationTest, Text) {
  Var n = make_var("n");
  EXPECT_EQ(to_string(tensor_annotation({n, 4}, kF32)), "Tensor((n, 4), f32)");
  EXPECT_EQ(to_string(tensor_annotation({n}, std::nullopt)), "Tensor((n,))");
  EXPECT_EQ(to_string(tensor_annotation_ndim(2, kF32)), "Tensor(ndim=2, f32)");
  EXPECT_EQ(to_string(tensor_annotation_ndim(kUnknownNdim, std::nullopt)), "Tensor()");
  EXPECT_EQ(to_string(shape_annotation({n + 1})), "Shape((n + 1,))");
  EXPECT_EQ(to_string(callable_annotation({object_annotation()}, prim_annotation(DType::kI64),
                                          /*pure=*/false)),
            "Callable((Object), Prim(i64), impure)");
}

TEST(AnnotationTest, OfAtoms) {
  Var n = make_var("n");
  Variable x = make_variable("x", tensor_annotation({n, 4}, kF32));
  Expr pair = make_tuple({x, make_shape({n}), make_prim_value(n + 1)});
  EXPECT_EQ(to_string(annotation_of(pair)),
            "Tuple(Tensor((n, 4), f32), Shape((n,)), Prim(i64, n + 1))");
  EXPECT_EQ(annotation_of(make_get_item(pair, 0)), x->annotation);
  EXPECT_EQ(to_string(annotation_of(make_constant(HostTensor::zeros(DType::kI32, {2, 3})))),
            "Tensor((2, 3), i32)");
  EXPECT_THROW(annotation_of(make_op_call("silu", {x})), CompilerException);
  EXPECT_EQ(make_variable("y", nullptr)->annotation->kind, AnnotationKind::kObject);
}

TEST(AnnotationTest, Substitute) {
  Var n = make_var("n");
  Annotation tuple = tuple_annotation({tensor_annotation({n * 2}, kF32), shape_annotation({n})});
  EXPECT_EQ(to_string(substitute(tuple, {{n.get(), PrimExpr(3)}})),
            "Tuple(Tensor((3*2,), f32), Shape((3,)))");
  std::vector<Var> vars;
  collect_vars(tuple, vars);
  EXPECT_EQ(vars.size(), 1u);
}

TEST(Unify, BindsVariablesAndRefusesContradictions) {
  Var n = make_var("n"), m = make_var("m");
  VarMap values;
  EXPECT_TRUE(unify(tensor_annotation({n, m}, kF32), tensor_annotation({3, 4}, kF32), values));
  EXPECT_TRUE(values[n.get()].is_int(3));
  EXPECT_TRUE(values[m.get()].is_int(4));
  EXPECT_FALSE(unify(tensor_annotation({n}, kF32), tensor_annotation({5}, kF32), values));
  VarMap fresh;
  EXPECT_FALSE(unify(tensor_annotation({n}, kF32), tensor_annotation({3, 4}, kF32), fresh));
  EXPECT_FALSE(unify(tensor_annotation({n}, kF32), tensor_annotation({3}, DType::kI32), fresh));
  EXPECT_FALSE(unify(shape_annotation({n}), tensor_annotation({3}, kF32), fresh));
  EXPECT_TRUE(unify(shape_annotation({n, 4}), shape_annotation_ndim(2), fresh));
  EXPECT_TRUE(unify(object_annotation(), tensor_annotation({3}, kF32), fresh));
}

struct Chain {
  Var n = make_var("n");
  Variable x = make_variable("x", tensor_annotation({n}, kF32));
  Variable a = make_variable("a", tensor_annotation({n}, kF32), true);
  Variable b = make_variable("b", tensor_annotation({n}, kF32));
  FunctionRef function =
      make_function({x},
                    make_seq({{true,
                               {Binding{a, make_op_call("silu", {x}), nullptr, {}},
                                Binding{b, make_op_call("add", {a, a}), nullptr, {}}}}},
                             b),
                    tensor_annotation({n}, kF32));
};

TEST(Visit, UsesBindingsAndSignature) {
  Chain chain;
  auto counts = use_counts(chain.function->body);
  EXPECT_EQ(counts[chain.x.get()], 1);
  EXPECT_EQ(counts[chain.a.get()], 2);
  EXPECT_EQ(counts[chain.b.get()], 1);
  std::string names;
  visit_bindings(chain.function->body, [&](const Binding& binding, bool dataflow) {
    names += binding.var->name + (dataflow ? "d" : "");
  });
  EXPECT_EQ(names, "adbd");
  ASSERT_EQ(signature_vars(*chain.function).size(), 1u);
  EXPECT_TRUE(signature_vars(*chain.function)[0].same_as(chain.n));
}

TEST(Visit, SubstituteReplacesUsesOnly) {
  Chain chain;
  Expr body = substitute(chain.function->body, ExprMap{{chain.a.get(), chain.x}});
  auto counts = use_counts(body);
  EXPECT_EQ(counts[chain.x.get()], 3);
  EXPECT_EQ(counts.contains(chain.a.get()), false);
  EXPECT_EQ(as<SeqNode>(body)->blocks[0].bindings[0].var, chain.a);
}

TEST(Visit, SubstituteSymbolsReachesBoundVariables) {
  Chain chain;
  Expr body = substitute_symbols(chain.function->body, {{chain.n.get(), PrimExpr(7)}});
  const Block& block = as<SeqNode>(body)->blocks[0];
  EXPECT_EQ(to_string(block.bindings[0].var->annotation), "Tensor((7,), f32)");
  const auto& call = *as<CallNode>(block.bindings[1].value);
  EXPECT_EQ(call.args[0], Expr(block.bindings[0].var));
}

TEST(CallTir, PartsAndTheirAbsence) {
  Var n = make_var("n");
  Variable x = make_variable("x", tensor_annotation({n}, kF32));
  Expr call = make_op_call("call_tir", {make_global("k"), make_tuple({x}), make_shape({n})}, {},
                           {tensor_annotation({n}, kF32)});
  EXPECT_TRUE(is_call_tir(call));
  EXPECT_EQ(call_tir_callee(*as<CallNode>(call)), "k");
  EXPECT_EQ(call_tir_args(*as<CallNode>(call)).size(), 1u);
  EXPECT_TRUE(call_tir_symbols(*as<CallNode>(call))[0].same_as(n));
  Expr bad = make_op_call("call_tir", {x});
  EXPECT_THROW(call_tir_callee(*as<CallNode>(bad)), CompilerException);
  EXPECT_FALSE(is_call_tir(make_op_call("silu", {x})));
  EXPECT_EQ(called_operator(x), "");
}

TEST(KernelCall, ScalarsComeFromShapesThenFromSymbols) {
  Var n = make_var("n"), k = make_var("k");
  auto in = tir::make_buffer("x", kF32, {n});
  auto out = tir::make_buffer("y", kF32, {k});
  tir::PrimFuncRef func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}},
                                              tir::make_store(out, {0}, tir::load(in, {0})));
  ASSERT_EQ(underived_scalars(*func).size(), 1u);
  EXPECT_TRUE(underived_scalars(*func)[0].same_as(k));
  Var m = make_var("m");
  auto values = scalar_values(*func, {tensor_annotation({m * 2}, kF32)}, {m + 1});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(to_string(values[0]), "m*2");
  EXPECT_EQ(to_string(values[1]), "m + 1");
  EXPECT_THROW(scalar_values(*func, {tensor_annotation({m}, kF32)}, {}), CompilerException);
}

}  // namespace
}  // namespace tapml::relax
