// Minimized regressions that random programs found.

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "build/insert_checks.h"
#include "checked.h"
#include "interp/interpreter.h"
#include "passes/canonicalize.h"
#include "passes/dead_parameters.h"
#include "passes/fold_constants.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/lambda_lift.h"
#include "passes/legalize.h"
#include "passes/match.h"
#include "passes/name_shapes.h"
#include "passes/partial_evaluate.h"
#include "passes/simplify_graph.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

Module legalized(const std::string& text) {
  return checked(legalize(text::parse("module\n" + text, "test")));
}

TEST(FoundByGraphs, OneSectionOfASplitIsATupleStill) {
  Module module = legalized(R"(
def main(x: Tensor((n, 2), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    parts: Tuple(Tensor((n, 2), f32)) = op "split"(x) {axis: 0, sections: 1}
    y: Tensor((n, 2), f32) = parts[0]
    output y
  }
  return y
})");
  op::RefTensor x = op::RefTensor::zeros(DType::kF32, {1, 2});
  x.values = {3, 4};
  for (auto body : {interp::KernelBody::kSpec, interp::KernelBody::kLoops}) {
    EXPECT_EQ(interp::call(module, "main", {interp::Value::tensor(x)}, body).as_tensor().values,
              x.values);
  }
}

TEST(FoundByGraphs, ABoolIsPaddedWithABool) {
  Module module = legalized(R"(
def main(x: Tensor((1,), bool)) -> Tensor((3,), bool) {
  dataflow {
    y: Tensor((3,), bool) = op "pad"(x) {mode: "constant", value: 3.0, widths: [1, 1]}
    output y
  }
  return y
})");
  interp::Value x = interp::Value::tensor(op::RefTensor::zeros(DType::kBool, {1}));
  EXPECT_EQ(interp::call(module, "main", {x}, interp::KernelBody::kLoops).as_tensor().values,
            (std::vector<double>{1, 0, 1}));
}

const char* const kUpdate = R"(
def main(pool: Tensor((3, 2, 1, 1), f32), fresh: Tensor((1, 2, 1, 1), f32),
         table: Tensor((1, 2), i32), lengths: Tensor((1,), i32)) -> Tensor((3, 2, 1, 1), f32) {
  dataflow {
)";
const char* const kEnd = R"(
    output b
  }
  return b
})";

TEST(FoundByGraphs, TensorsUpdatedInPlaceAreNotReadAgain) {
  testing::expect_user_error(
      [] {
        legalized(std::string(kUpdate) + R"(
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((3, 2, 1, 1), f32) = add(a, pool))" +
                  kEnd);
      },
      {"'pool' is used after kv_append updated it in place", "@main, b", "copy(pool)"});
  // Another name of the same storage is refused as well.
  testing::expect_user_error(
      [] {
        legalized(std::string(kUpdate) + R"(
    flat: Tensor((6,), f32) = reshape(pool, shape(6))
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((6,), f32) = negative(flat))" +
                  kEnd);
      },
      {"'flat' is used after kv_append"});
  legalized(std::string(kUpdate) + R"(
    kept: Tensor((3, 2, 1, 1), f32) = copy(pool)
    a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
    b: Tensor((3, 2, 1, 1), f32) = add(a, kept))" +
            kEnd);
}

TEST(FoundByGraphs, ACapturedFunctionKeepsItsSymbols) {
  Module module = lambda_lift(text::parse(R"(module
def main(f: Callable((Shape((n,)),), Tuple()), s: Shape((m,))) -> Tuple() {
  g: Callable((Prim(i64),), Tuple()) = def (i: Prim(i64)) -> Tuple() {
    y: Tuple() = f(s)
    return y
  }
  z: Tuple() = g(prim(1))
  return z
})",
                                          "test"));
  analysis::verify(module, "lambda_lift");
  build::check_annotations(module, "lambda_lift");
}

TEST(FoundByGraphs, TensorsUpdatedInPlaceAreNotConstant) {
  Module module = fold_constants(text::parse(R"(module
prim def bump(inout x: Buffer((n,), f32), n: i64) {
  for i in serial(n) { x[i] = x[i] + f32(2.0) }
}
def main() -> Tensor((2,), f32) {
  x: Tensor((2,), f32) = negative(const(f32, (2,), [1.0, 3.0]))
  y: Tensor((2,), f32) = call_tir_inplace(@bump, (x,), Tensor((2,), f32)) {inout_indices: [0]}
  return y
})",
                                             "test"));
  analysis::verify(module, "fold_constants");
  EXPECT_EQ(interp::call(module, "main", {}).as_tensor().values, (std::vector<double>{1, -1}));
}

TEST(FoundByGraphs, AWriteInAClosureDoesNotWriteToAConstant) {
  Module module = fold_constants(text::parse(R"(module
impure def main() -> Object {
  f: Callable((Prim(i64),), Object, impure) = impure def (i: Prim(i64)) -> Object {
    own: Tensor((1, 2), f32) = copy(const(f32, (1, 2), [1.0, 2.0]))
    view: Tensor((2, 1), f32) = view_transpose(own) {axes: [1, 0]}
    w: Tuple() = assign(view, const(f32, (2, 1), [3.0, 4.0]))
    return own
  }
  y: Object = f(prim(1))
  return y
})",
                                             "test"));
  analysis::verify(module, "fold_constants");
  EXPECT_EQ(interp::call(module, "main", {}).as_tensor().values, (std::vector<double>{3, 4}));
}

TEST(FoundByGraphs, AVariableThatMakesNoDifference) {
  Module module = legalized(R"(
def main(x: Tensor((n,), i8)) -> Tensor((0,), i16) {
  y: Tensor((0,), i16) = arange(prim(1), prim(n + 33)) {dtype: i16, step: -1}
  return y
})");
  interp::Value x = interp::Value::tensor(op::RefTensor::zeros(DType::kI8, {2}));
  EXPECT_EQ(interp::call(module, "main", {x}).as_tensor().shape, Shape{0});
}

TEST(FoundByGraphs, CalleesStayOpen) {
  Module module = name_shapes(text::parse(R"(module
def main(x: Shape((n,))) -> Object {
  f: Object = full(x) {dtype: f32, value: 3.0}
  y: Object = f()
  return y
})",
                                          "test"));
  build::check_annotations(module, "name_shapes");
  testing::expect_user_error([&] { interp::call(module, "main", {interp::Value::shape({2})}); },
                             {"the called value is not a function"});
}

TEST(FoundByGraphs, SignaturesThatShareSymbolsReadAsTheSame) {
  Module module = lambda_lift(text::parse(R"(module
def main(f: Callable((Shape((n,)),), Tuple())) -> Object {
  g: Callable((Prim(i64),), Callable((Shape((m,)),), Tuple())) = def (i: Prim(i64)) -> Callable((Shape((m,)),), Tuple()) {
    return f
  }
  h: Callable((Shape((k,)),), Tuple()) = g(prim(1))
  return (g, h)
})",
                                          "test"));
  Module again = text::parse(text::print(module), "printed");
  std::string difference;
  EXPECT_TRUE(text::structural_equal(module, again, {.difference = &difference})) << difference;
  EXPECT_EQ(text::structural_hash(module), text::structural_hash(again));
}

TEST(FoundByGraphs, AClosureKeepsTheArgumentsItForwards) {
  Module module = remove_dead_parameters(lambda_lift(text::parse(R"(module
def main(x: Tensor((n,), f32)) -> Callable((Prim(i64),), Object) {
  f: Callable((Prim(i64),), Object) = def (i: Prim(i64)) -> Object {
    g: Callable((Prim(i64),), Object) = def (j: Prim(i64)) -> Object {
      y: Tensor((n,), f32) = negative(x)
      return y
    }
    return g
  }
  return f
})",
                                                                 "test")));
  analysis::verify(module, "dead_parameters");
  build::check_annotations(module, "dead_parameters");
  // The caller must pass the unused parameters.
  const auto* inner = relax::as_relax_function(module.find("main.f.g"));
  ASSERT_NE(inner, nullptr) << text::print(module);
  EXPECT_EQ(relax::as<relax::VarNode>(inner->params.back())->name, "j");
}

TEST(FoundByGraphs, AFunctionMarkedFusedCallsKernelsAlone) {
  Module module = text::parse(R"(module
def fused(x: Tensor((4,), f32)) -> Tensor((4,), f32) {fused: true} {
  dataflow {
    y: Tensor((4,), f32) = relu(x)
    output y
  }
  return y
}
def empty(x: Tensor((4,), f32)) -> Tensor((4,), f32) {fused: true} {
  return x
})",
                              "test");
  Module alone = module;
  alone.functions.erase("empty");
  testing::expect_user_error([&] { fuse_tensor_ir(alone); },
                             {"a function marked fused does more than call kernels", "value y"});
  module.functions.erase("fused");
  testing::expect_user_error([&] { fuse_tensor_ir(module); },
                             {"a function marked fused does more than call kernels", "its body"});
}

// A variable without information hid that the tensor program takes another rank.
TEST(FoundByGraphs, AProgramsArgumentIsDeducedAsAnotherTensor) {
  const Module module = text::parse(R"(module

prim def rows(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for i in parallel(n) {
    for j in serial(m) {
      block "rows" (vi: spatial(n) = i, vj: reduce(m) = j) {
        reads x[vi, vj]
        writes y[vi]
        init {
          y[vi] = f32(0.0)
        }
        y[vi] = y[vi] + x[vi, vj]
      }
    }
  }
}

def main(p: Tensor((n2,), f32)) -> Tensor((n2,), f32) {
  dataflow {
    ones: Object = full(shape(4)) {dtype: f32, value: 1.0}
    sums: Tensor((n2,), f32) = call_tir(@rows, (ones,), Tensor((n2,), f32))
    output sums
  }
  return sums
}
)",
                                    "m.txt");
  testing::expect_user_error(
      [&] { name_shapes(module); },
      {"the arguments of a tensor program do not match its parameters", "function main",
       "binding sums", "'ones' of rank 1", "'x' of rank 2"});
}

TEST(FoundByGraphs, AResultIsDeducedAsAnotherTensor) {
  Module module = text::parse(R"(module
def main(x: Tensor((1,), bool)) -> Tensor((3,), u64) {
  y: Object = op "pad"(x) {mode: "constant", value: 3.0, widths: [1, 1]}
  return y
})",
                              "test");
  testing::expect_user_error([&] { name_shapes(module); },
                             {"what a function returns is not what it promises", "function main",
                              "Tensor((3,), u64)", "Tensor((3,), bool)"});
}

TEST(FoundByGraphs, ABoundValueIsDeducedAsAnotherTensor) {
  Module module = text::parse(R"(module
def main(x: Tensor((1,), bool)) -> Tensor((1,), bool) {
  a: Object = arange(prim(0), prim(2)) {dtype: i32, step: -1}
  y: Tensor((), i32) = cumprod(a) {axis: -1, exclusive: false, reverse: false}
  return x
})",
                              "test");
  testing::expect_user_error(
      [&] { name_shapes(build::insert_checks(module)); },
      {"a value is not what its annotation says", "function main, binding y", "Tensor((), i32)",
       "Tensor((0,), i32)", "the shapes that are known now"});
}

TEST(FoundByGraphs, AResultIsDeducedAsAnotherShape) {
  Module module = text::parse(R"(module
def main() -> Shape((1, 3)) {
  v: Shape() = shape(1, 64)
  return v
})",
                              "test");
  testing::expect_user_error([&] { partial_evaluate(module); },
                             {"what a function returns is not what it promises", "function main",
                              "Shape((1, 3))", "Shape((1, 64))", "what is known at compile time"});
}

TEST(FoundByGraphs, AClosureDiffersFromItsVariablesAnnotation) {
  Module module = text::parse(R"(module
def main(x: Tensor((3,), f32)) -> Tensor((3,), f32) {
  f: Callable((Tensor((n,), f32)), Tensor((n,), f32)) = def (
      a: Tensor((n,), f32)
  ) -> Tensor((1,), f32) {
    return a
  }
  y: Tensor((3,), f32) = f(x)
  return y
})",
                              "test");
  testing::expect_user_error(
      [&] { lambda_lift(module); },
      {"a value is not what its annotation says", "function main, binding y", "Tensor((3,), f32)",
       "Tensor((1,), f32)", "the functions that are called"});
}

TEST(FoundByGraphs, AViewedConstantStaysAVariable) {
  Module module = text::parse(R"(module
impure def main(x: Tensor((1,), f32)) -> Tensor((1, 1), f32) {
  one: Tensor((1, 1), f32) = full(shape(1, 1)) {dtype: f32, value: 1.0}
  own: Tensor((1, 1), f32) = copy(one)
  view: Tensor((1,), f32) = view_reshape(own, shape(1))
  w: Tuple() = assign(view, x)
  return own
})",
                              "test");
  const Module result = partial_evaluate(module);
  analysis::verify(result, "partial_evaluate");
  EXPECT_NE(text::print(result).find("view_reshape(own"), std::string::npos) << text::print(result);
}

// A run-time fault, which passes leave until then.
TEST(FoundByGraphs, AMissingFieldIsARunTimeFault) {
  Module module = text::parse(R"(module
def main(x: Tensor((1,), f32)) -> Tensor((1,), f32) {
  t: Tuple(Tensor((1,), f32)) = (x,)
  field: Object = t[1000000000]
  y: Tensor((1,), f32) = match_cast(field, Tensor((1,), f32))
  return y
})",
                              "test");
  for (auto pass : {simplify_graph, canonicalize, partial_evaluate}) {
    const Module result = pass(module);
    analysis::verify(result);
    testing::expect_user_error(
        [&] {
          interp::call(result, "main",
                       {interp::Value::tensor(op::RefTensor::zeros(DType::kF32, {1}))});
        },
        {"does not have this field", "main"});
  }
}

// The function of a match gets n as a number, which may be negative: the slice stays outside.
TEST(FoundByGraphs, AMatchIsProvedWhereItMoves) {
  const Module matched = checked(match(text::parse(R"(module
def main(y: Tensor((n,), f32), x: Tensor((n + 5,), f32)) -> Tensor((1,), f32) {
  dataflow {
    part: Tensor((1,), f32) = slice(x, shape(n), shape(n + 1)) {axes: [0]}
    output part
  }
  return part
}
def any_slice(p0: Object, p1: Shape((s0,)), p2: Shape((s1,))) -> Object {pattern: true} {
  dataflow {
    v0: Object = slice(p0, p1, p2)
    output v0
  }
  return v0
}
)",
                                                   "test")));
  EXPECT_FALSE(matched.find("fused"));
  const auto& main = *relax::as_relax_function(matched.find("main"));
  EXPECT_EQ(relax::called_operator(relax::body_of(main).blocks[0].bindings[0].value), "slice");
}

// The call is inlined later, and what is left must not be a lambda with operators.
TEST(FoundByGraphs, AClosureThatCallsAnInlineFunctionIsLifted) {
  const Module module = checked(lambda_lift(text::parse(R"(module
def inner(x: Tensor((n,), f32)) -> Tensor((n,), f32) {inline: true} {
  y: Tensor((n,), f32) = exp(x)
  return y
}
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  closure: Callable((Tensor((m,), f32)), Tensor((m,), f32)) = def (z: Tensor((m,), f32)) -> Tensor((m,), f32) {
    r: Tensor((m,), f32) = @inner(z)
    return r
  }
  y: Tensor((n,), f32) = closure(x)
  return y
}
)",
                                                        "test")));
  EXPECT_TRUE(module.find("main.closure"));
  EXPECT_EQ(text::print(lambda_lift(module)), text::print(module));
}

TEST(FoundByGraphs, AnOutputTupleKeepsItsFieldsInItsBlock) {
  const Module module = checked(partial_evaluate(checked(text::parse(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    t: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = (x, a)
    output t
  }
  y: Tensor((n,), f32) = t[1]
  z: Tensor((n,), f32) = tanh(y)
  return z
}
)",
                                                                     "test"))));
  EXPECT_NE(text::print(module).find("t[1]"), std::string::npos);
}

// Calls in it are evaluated in attempts that are abandoned; variables of later ones may have the
// addresses of theirs.
TEST(FoundByGraphs, AbandonedEvaluationsLeaveNoValues) {
  const Module module = checked(text::parse(R"(
prim def hand_repeat(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64, k: i64) {
  for i in serial(n) {
    for j in serial(k) {
      block "repeat" (vi: spatial(n) = i, vj: reduce(k) = j) {
        y[vi] = y[vi] + x[(vi + vj)%n]
      }
    }
  }
}
def helper1(p2: Tensor((1,), f32)) -> Tuple() {
  tanh3: Tensor((1,), f32) = tanh(p2)
  t4: Tuple(Tensor((1,), f32)) = (p2,)
  f17: Callable((), Tuple(Tuple(Tensor((1,), f32)), Object)) = def (
  ) -> Tuple(Tuple(Tensor((1,), f32)), Object) {
    loop7: Callable((Prim(i64, i5), Tuple(Tensor((1,), f32))), Object) = def (
        i5: Prim(i64, i5_1),
        carried6: Tuple(Tensor((1,), f32))
    ) -> Object {
      value11: Object = if (prim(i5_1 < 2)) {
        next10: Object = loop7(prim(i5_1 + 1), carried6)
        yield next10
      } else {
        yield carried6
      }
      return value11
    }
    looped12: Object = loop7(prim(-1), (tanh3,))
    cast13: Tensor((1,), f32) = match_cast(tanh3, Tensor((1,), f32))
    return (t4, looped12)
  }
  return ()
}
def main(
    p25: Tensor((8, 8), f32),
    p27: Tensor((), bool)
) -> Tuple(Tensor((8, 8), f32), Tensor((), bool), Prim(i64, 4), Tensor((), bool)) {
  cast26: Tensor((8, 8), f32) = match_cast(p25, Tensor((8, 8), f32)) @origin("layers.1") @lines("block.cpp:1")
  joined59: Tensor((8, 8), f32) = if (p27) {
    full28: Tensor((1,), f32) = full(shape(1)) {dtype: f32, value: 1.0}
    f29: Callable((Tensor((1,), f32)), Tuple()) = @helper1
    call30: Tuple() = f29(full28)
    loop41: Callable((Prim(i64, i39), Tensor((), f32)), Tensor((), f32)) = def (
        i39: Prim(i64, i39_1),
        carried40: Tensor((), f32)
    ) -> Tensor((), f32) {
      value46: Tensor((), f32) = if (prim(i39_1 < 1)) {
        call42: Tuple() = f29(const(f32, (1,), [0.785956]))
        full43: Tensor((8,), f32) = full(shape(8)) {dtype: f32, value: 0.0}
        hand44: Tensor((8,), f32) = call_tir(@hand_repeat, (full43,), shape(3), Tensor((8,), f32))
        next45: Tensor((), f32) = loop41(prim(i39_1 + 1), carried40)
        yield next45
      } else {
        yield carried40
      }
      return value46
    }
    looped47: Tensor((), f32) = loop41(prim(-2), const(f32, (), [1.9078233]))
    yield cast26
  } else {
    yield cast26
  }
  cosh60: Tensor((8, 8), f32) = cosh(joined59)
  logical_or61: Tensor((), bool) = logical_or(p27, const(bool, (), [true]))
  v62: Prim(i64, 4) = prim(4)
  loop65: Callable((Prim(i64, i63), Tensor((), bool)), Tensor((), bool)) = def (
      i63: Prim(i64, i63_1),
      carried64: Tensor((), bool)
  ) -> Tensor((), bool) {
    value82: Tensor((), bool) = if (prim(i63_1 < 0)) {
      turn66: Tensor((1, 8), f32) = slice(p25, shape(max(min(i63_1, 7), 0)), shape(max(min(i63_1, 7), 0) + 1)) {axes: [0]}
      f80: Callable((Tensor((4,), f16), Shape(())), Tuple(Tensor((8, 8), f32), Tensor((), bool), Shape(ndim=2))) = def (
          p74: Tensor((4,), f16),
          p75: Shape(())
      ) -> Tuple(Tensor((8, 8), f32), Tensor((), bool), Shape(ndim=2)) {
        v76: Tensor((1, 8), f32) = const(f32, (1, 8), [0.4477854, 1.1325222, -0.09179389, -1.5060024, 1.8950973, 0.9731167, -0.940703, -0.85113895])
        cast77: Tensor((1, 8), f32) = match_cast(turn66, Tensor((1, 8), f32))
        read78: Shape(ndim=2) = tensor_to_shape(const(i64, (2,), [4, 4]))
        cast79: Shape((4, 4)) = match_cast(read78, Shape((4, 4)))
        return (p25, p27, read78)
      }
      next81: Tensor((), bool) = loop65(prim(i63_1 + 1), logical_or61)
      yield next81
    } else {
      yield carried64
    }
    return value82
  }
  looped83: Tensor((), bool) = loop65(prim(-1), logical_or61)
  return (p25, logical_or61, v62, looped83)
}
)",
                                            "test"));
  checked(partial_evaluate(build::insert_checks(module)));
}

}  // namespace
}  // namespace tapml::passes
