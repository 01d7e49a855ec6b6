// The graph interpreter: functions, kernels, control flow and signatures.
#include <gtest/gtest.h>

#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "support/dtypes.h"
#include "tir/builder.h"

namespace tapml::interp {
namespace {

using namespace relax;  // NOLINT
using testing::kF32;

Value vector(std::vector<double> values, DType dtype = kF32) {
  op::RefTensor tensor = op::RefTensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  tensor.values = std::move(values);
  return Value::tensor(std::move(tensor));
}

Binding bound(const Variable& var, Expr value) { return {var, std::move(value), nullptr, {}}; }

FunctionRef function_of(std::vector<Variable> params, std::vector<Binding> bindings, Expr result,
                        AttrMap attrs = {}) {
  Block block{.dataflow = false, .bindings = std::move(bindings)};
  return make_function(std::move(params), make_seq({block}, std::move(result)), object_annotation(),
                       std::move(attrs));
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CompilerException& e) {
    const Error& error = e.error();
    return error.where + ": " + error.message + ": " + error.expected + " / " + error.found;
  }
  return "no error";
}

class Graph : public ::testing::Test {
 protected:
  Variable var(const std::string& name, Dims shape, DType dtype = kF32) {
    return make_variable(name, tensor_annotation(std::move(shape), dtype));
  }
  Module module;
  Var n = make_var("n"), m = make_var("m");
};

TEST_F(Graph, OperatorsTuplesAndShapes) {
  Variable x = var("x", {n});
  Variable pair = make_variable("pair", object_annotation());
  Variable item = make_variable("item", object_annotation());
  Variable y = make_variable("y", object_annotation());
  module.functions["f"] = function_of(
      {x},
      {bound(pair, make_op_call("split", {x}, {{"axis", int64_t{0}}, {"sections", int64_t{2}}})),
       bound(item, make_get_item(pair, 1)),
       bound(y, make_op_call("reshape", {x, make_shape({2, floordiv(n, 2)})}))},
      make_tuple({item, y, make_shape({n, 7}), make_prim_value(n + 1)}));
  Value result = call(module, "f", {vector({1, 2, 3, 4, 5, 6})});
  const ValueList& fields = result.as_tuple();
  EXPECT_EQ(fields[0].as_tensor().values, (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(fields[1].as_tensor().shape, (Shape{2, 3}));
  EXPECT_EQ(fields[2].as_shape(), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(std::get<int64_t>(fields[3].data), 7);
}

TEST_F(Graph, BoundsRunThroughAFunction) {
  Variable x = var("x", {n}), y = make_variable("y", object_annotation());
  Variable z = make_variable("z", object_annotation());
  module.functions["f"] = function_of(
      {x}, {bound(y, make_op_call("multiply", {x, x})), bound(z, make_op_call("add", {y, x}))}, z);
  op::RefTensor result = call(module, "f", {vector({3})}).as_tensor();
  EXPECT_EQ(result.values[0], 12);
  EXPECT_GT(result.bound[0], 9 * 0x1p-24);
  EXPECT_LT(result.bound[0], 200 * 0x1p-24);
}

TEST_F(Graph, ConstantsAndIf) {
  HostTensor two = HostTensor::zeros(kF32, {});
  two.set_f64(0, 2);
  Variable flag = var("flag", {}, DType::kBool), x = var("x", {n});
  Variable y = make_variable("y", object_annotation()), a = make_variable("a", object_annotation());
  auto branch = std::make_shared<IfNode>();
  branch->condition = flag;
  Block block{.dataflow = false,
              .bindings = {bound(a, make_op_call("multiply", {x, make_constant(two)}))}};
  branch->then_branch = make_seq({block}, a);
  branch->else_branch = make_seq({}, x);
  module.functions["f"] = function_of({flag, x}, {bound(y, branch)}, y);
  for (double taken : {1.0, 0.0}) {
    op::RefTensor condition = op::RefTensor::zeros(DType::kBool, {});
    condition.values[0] = taken;
    Value result = call(module, "f", {Value::tensor(condition), vector({5})});
    EXPECT_EQ(result.as_tensor().values[0], taken ? 10 : 5);
  }
}

// Only the bindings of the outermost function are counted, whatever it calls.
TEST_F(Graph, AWatcherIsNotifiedOfBindings) {
  Variable x = var("x", {n});
  Variable y = make_variable("y", object_annotation());
  Variable z = make_variable("z", object_annotation());
  Variable u = var("u", {m});
  Variable v = make_variable("v", object_annotation());
  Variable w = make_variable("w", object_annotation());
  module.functions["inner"] =
      function_of({u}, {bound(v, make_op_call("exp", {u})), bound(w, make_op_call("exp", {v}))}, w);
  module.functions["f"] = function_of(
      {x}, {bound(y, make_call(make_global("inner"), {x})), bound(z, make_op_call("exp", {y}))},
      make_tuple({y, z}));
  std::vector<std::pair<int64_t, int64_t>> told;
  CallOptions options;
  options.watcher = [&](const Work& work) {
    EXPECT_EQ(work.what, "reference");
    told.emplace_back(work.done, work.total);
  };
  call(module, "f", {vector({1, 2})}, options);
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {1, 2}, {1, 1}}));
}

// The tensors of the called function, in order; not those of the functions that it calls.
TEST_F(Graph, AnObserverReceivesTheTensorsOfBindings) {
  Variable x = var("x", {n}), u = var("u", {m});
  Variable y = make_variable("y", object_annotation());
  Variable pair = make_variable("pair", object_annotation());
  Variable z = make_variable("z", object_annotation());
  Variable v = make_variable("v", object_annotation());
  module.functions["inner"] = function_of({u}, {bound(v, make_op_call("negative", {u}))}, v);
  module.functions["f"] =
      function_of({x},
                  {bound(y, make_call(make_global("inner"), {x})), bound(pair, make_tuple({x, y})),
                   bound(z, make_op_call("negative", {y}))},
                  z);
  std::vector<std::pair<std::string, double>> seen;
  CallOptions options;
  options.observe = [&](const Binding& binding, const op::RefTensor& value) {
    seen.emplace_back(binding.var->name, value.values[1]);
  };
  EXPECT_EQ(call(module, "f", {vector({1, 2})}, options).as_tensor().values[1], 2);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, double>>{{"y", -2}, {"z", 2}}));
}

TEST_F(Graph, CallsBindTheirOwnSymbols) {
  Variable a = var("a", {n}), r = make_variable("r", object_annotation());
  module.functions["twice"] = function_of(
      {a}, {bound(r, make_op_call("concat", {make_tuple({a, a})}, {{"axis", int64_t{0}}}))}, r);
  Variable x = var("x", {m}), y = make_variable("y", object_annotation());
  Variable z = make_variable("z", object_annotation());
  module.functions["main"] = function_of({x},
                                         {bound(y, make_call(make_global("twice"), {x})),
                                          bound(z, make_call(make_global("twice"), {y}))},
                                         z);
  EXPECT_EQ(call(module, "main", {vector({1, 2})}).as_tensor().shape, Shape{8});
  EXPECT_EQ(error_of([&] { call(module, "none", {}); }),
            ": the module has no graph-level function called @none:  / ");
}

TEST_F(Graph, EndlessRecursionIsAnError) {
  Variable x = var("x", {n}), y = make_variable("y", object_annotation());
  Variable z = make_variable("z", object_annotation());
  module.functions["f"] = function_of({x}, {bound(y, make_call(make_global("f"), {x}))}, y);
  module.functions["g"] = function_of(
      {x}, {bound(y, make_call(make_global("g"), {x})), bound(z, make_op_call("exp", {y}))}, z);
  EXPECT_EQ(error_of([&] {
              CallOptions options;
              options.max_tail_calls = 1000;
              call(module, "f", {vector({1})}, options);
            }),
            "function f: a loop does not end: at most 1000 iterations / ");
  // All calls of a run together.
  EXPECT_EQ(error_of([&] {
              CallOptions options;
              options.max_calls = 500;
              call(module, "f", {vector({1})}, options);
            }),
            "function f: a run makes more than 500 calls:  / ");
  EXPECT_EQ(error_of([&] { call(module, "g", {vector({1})}); }),
            "function g: function calls are nested too deeply: at most 1000 calls in progress / ");
}

TEST_F(Graph, SignatureIsChecked) {
  Variable x = var("x", {n, 4}), y = var("y", {n * 2});
  module.functions["f"] = function_of({x, y}, {}, x);
  auto matrix = [](int64_t rows, int64_t columns, DType dtype = kF32) {
    return Value::tensor(op::RefTensor::zeros(dtype, {rows, columns}));
  };
  call(module, "f", {matrix(1, 4), vector({1, 2})});
  auto failure = [&](std::vector<Value> args) {
    return error_of([&] { call(module, "f", args); });
  };
  EXPECT_EQ(failure({matrix(1, 4)}), "function f: wrong number of arguments: 2 / 1");
  EXPECT_EQ(failure({matrix(1, 5), vector({1, 2})}),
            "parameter x of f, dimension 1: dimension 1 of parameter x of f is 5, not 4: 4 / 5 (a "
            "tensor f32[1, 5])");
  EXPECT_EQ(
      failure({matrix(1, 4), vector({1, 2, 3})}),
      "parameter y of f, dimension 0: dimension 0 of parameter y of f is 3, not n*2 = 2: n*2 = "
      "2 (n = 1 is dimension 0 of parameter x) / 3 (a tensor f32[3])");
  EXPECT_EQ(
      failure({matrix(1, 4, DType::kF16), vector({1, 2})}),
      "parameter x of f: parameter x of f is not what the program expects: a tensor of f32 with "
      "2 dimensions / a tensor f16[1, 4]");
  EXPECT_EQ(
      failure({Value::shape({1, 4}), vector({1, 2})}),
      "parameter x of f: parameter x of f is not what the program expects: a tensor of f32 with "
      "2 dimensions / a shape [1, 4]");
}

TEST_F(Graph, MatchCastBindsAndChecks) {
  Variable x = make_variable("x", tensor_annotation_ndim(2, kF32));
  Variable y = var("y", {m, m});
  Binding cast{y, x, y->annotation, {}};
  module.functions["f"] = function_of({x}, {cast}, make_shape({m + 1}));
  auto run = [&](int64_t rows, int64_t columns) {
    return call(module, "f", {Value::tensor(op::RefTensor::zeros(kF32, {rows, columns}))});
  };
  EXPECT_EQ(run(3, 3).as_shape(), (std::vector<int64_t>{4}));
  EXPECT_EQ(error_of([&] { run(3, 4); }),
            "match_cast y of f, dimension 1: dimension 1 of match_cast y of f is 4, not m = 3: m = "
            "3 (m is dimension 0 of match_cast y) / 4 (a tensor f32[3, 4])");
}

// A kernel whose loops differ from its specification: the reference follows the specification,
// kLoops the loops.
TEST_F(Graph, KernelsAreSpecOrLoops) {
  Variable a = var("a", {n}), r = make_variable("r", object_annotation());
  module.functions["k"] =
      function_of({a}, {bound(r, make_op_call("exp", {a}))}, r,
                  {{"kernel", true}, {"implementation", std::string("k_impl")}});
  tir::Buffer in = tir::make_buffer("a", kF32, {n}), out = tir::make_buffer("out", kF32, {n});
  tir::Stmt body = tir::compute(
      "k", out, [&](const std::vector<Var>& i) { return tir::load(in, i) + make_float(1, kF32); });
  module.functions["k_impl"] =
      tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  Variable x = var("x", {m}), y = make_variable("y", object_annotation());
  Expr kernel_call = make_op_call("call_tir", {make_global("k"), make_tuple({x})}, {},
                                  {tensor_annotation({m}, kF32)});
  module.functions["main"] = function_of({x}, {bound(y, kernel_call)}, y);
  EXPECT_EQ(call(module, "main", {vector({0, 0})}).as_tensor().values, (std::vector<double>{1, 1}));
  op::RefTensor loops = call(module, "main", {vector({2, 4})}, KernelBody::kLoops).as_tensor();
  EXPECT_EQ(loops.values, (std::vector<double>{3, 5}));
  EXPECT_EQ(loops.bound, (std::vector<double>{0, 0}));
}

// Symbols that no input determines are passed by the call, to the specification as a shape
// parameter.
TEST_F(Graph, KernelsTakeSymbols) {
  Variable a = var("a", {4}), s = make_variable("s", shape_annotation({n}));
  Variable r = make_variable("r", object_annotation());
  Expr slice = make_op_call("slice", {a, make_shape({n}), make_shape({n + 2})});
  module.functions["k"] = function_of(
      {a, s}, {bound(r, slice)}, r, {{"kernel", true}, {"implementation", std::string("k_impl")}});
  tir::Buffer in = tir::make_buffer("a", kF32, {4}), out = tir::make_buffer("out", kF32, {2});
  tir::Stmt body =
      tir::compute("k", out, [&](const std::vector<Var>& i) { return tir::load(in, {i[0] + n}); });
  module.functions["k_impl"] =
      tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  Variable x = var("x", {4}), p = make_variable("p", shape_annotation({m}));
  Variable y = make_variable("y", object_annotation());
  Expr kernel_call = make_op_call("call_tir", {make_global("k"), make_tuple({x}), make_shape({m})},
                                  {}, {tensor_annotation({2}, kF32)});
  module.functions["main"] = function_of({x, p}, {bound(y, kernel_call)}, y);
  for (KernelBody kind : {KernelBody::kSpec, KernelBody::kLoops}) {
    Value result = call(module, "main", {vector({1, 2, 3, 4}), Value::shape({1})}, kind);
    EXPECT_EQ(result.as_tensor().values, (std::vector<double>{2, 3}));
  }
}

// In-place kernels return the updated argument and do not change the caller's value.
TEST_F(Graph, InplaceKernels) {
  Variable a = var("a", {n}), b = var("b", {n}), r = make_variable("r", object_annotation());
  module.functions["k"] =
      function_of({a, b}, {bound(r, make_op_call("add", {a, b}))}, r,
                  {{"kernel", true}, {"implementation", std::string("k_impl")}});
  tir::Buffer sum = tir::make_buffer("a", kF32, {n}), term = tir::make_buffer("b", kF32, {n});
  tir::Stmt body = tir::compute(
      "k", sum, [&](const std::vector<Var>& i) { return tir::load(sum, i) + tir::load(term, i); });
  module.functions["k_impl"] =
      tir::make_prim_func({{sum, AccessMode::kInOut}, {term, AccessMode::kIn}}, body);
  Variable x = var("x", {m}), y = make_variable("y", object_annotation());
  Expr kernel_call =
      make_op_call("call_tir_inplace", {make_global("k"), make_tuple({x, x})},
                   {{"inout_indices", std::vector<int64_t>{0}}}, {tensor_annotation({m}, kF32)});
  module.functions["main"] = function_of({x}, {bound(y, kernel_call)}, make_tuple({x, y}));
  for (KernelBody kind : {KernelBody::kSpec, KernelBody::kLoops}) {
    Value result = call(module, "main", {vector({1, 2})}, kind);
    EXPECT_EQ(result.as_tuple()[0].as_tensor().values, (std::vector<double>{1, 2}));
    EXPECT_EQ(result.as_tuple()[1].as_tensor().values, (std::vector<double>{2, 4}));
  }
}

}  // namespace
}  // namespace tapml::interp
