// The function builder, type deduction at calls, and the check of annotations.
#include "build/block_builder.h"

#include <gtest/gtest.h>

#include "build/annotations.h"
#include "ir/exceptions.h"
#include "support/dtypes.h"

namespace tapml::build {
namespace {

using namespace relax;  // NOLINT
using testing::kF32;

std::string message_of(const std::function<void()>& f, ErrorKind kind = ErrorKind::kUser) {
  try {
    f();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, kind);
    return e.error().to_string();
  }
  ADD_FAILURE() << "no error";
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Builder : public ::testing::Test {
 protected:
  Annotation matrix(PrimExpr rows, PrimExpr columns, DType dtype = kF32) {
    return tensor_annotation({std::move(rows), std::move(columns)}, dtype);
  }
  Module module;
  Var n = make_var("n"), m = make_var("m");
};

TEST_F(Builder, DataflowBlockWithOutput) {
  FunctionBuilder f(module);
  Variable x = f.param("x", matrix(n, 4));
  f.begin_dataflow();
  f.set_origin({});
  Variable y = f.emit_op("silu", {x});
  Variable z = f.emit_op("add", {y, x}, {}, "z", true);
  f.end_dataflow();
  FunctionRef function = f.finish(z, {{"kernel", true}});

  EXPECT_EQ(y->name, "silu");
  EXPECT_TRUE(y->dataflow);
  EXPECT_FALSE(z->dataflow);
  EXPECT_EQ(to_string(y->annotation), "Tensor((n, 4), f32)");
  EXPECT_EQ(to_string(function->result), "Tensor((n, 4), f32)");
  EXPECT_TRUE(function->pure);
  EXPECT_EQ(function->all_attrs().size(), 1u);
  const SeqNode& body = body_of(*function);
  ASSERT_EQ(body.blocks.size(), 1u);
  EXPECT_TRUE(body.blocks[0].dataflow);
  EXPECT_EQ(body.blocks[0].bindings.size(), 2u);
  EXPECT_EQ(body.result, z);
}

TEST_F(Builder, OperandsAreBoundFirst) {
  FunctionBuilder f(module);
  Variable x = f.param("x", matrix(n, 4));
  Expr inner = make_op_call("exp", {make_op_call("exp", {x})});
  Variable y = f.emit_op("concat", {make_tuple({inner, x})}, {{"axis", int64_t{0}}});
  FunctionRef function = f.finish(make_tuple({y, make_op_call("silu", {y})}));
  const SeqNode& body = body_of(*function);
  ASSERT_EQ(body.blocks.size(), 1u);
  std::vector<std::string> names;
  for (const Binding& binding : body.blocks[0].bindings) names.push_back(binding.var->name);
  EXPECT_EQ(names, (std::vector<std::string>{"exp", "exp_1", "concat", "silu"}));
  EXPECT_EQ(to_string(function->result), "Tuple(Tensor((n*2, 4), f32), Tensor((n*2, 4), f32))");
}

TEST_F(Builder, NamesAreUnique) {
  FunctionBuilder f(module);
  Variable x = f.param("exp", matrix(n, 4));
  EXPECT_EQ(f.emit_op("exp", {x})->name, "exp_1");
  EXPECT_EQ(f.emit_op("exp", {x}, {}, "exp_2")->name, "exp_2");
  EXPECT_EQ(f.emit_op("exp", {x})->name, "exp_3");
}

TEST_F(Builder, MatchCast) {
  FunctionBuilder f(module);
  Variable x = f.param("x", tensor_annotation_ndim(2, kF32));
  Variable y = f.emit_match_cast(x, matrix(m, 4));
  EXPECT_EQ(to_string(y->annotation), "Tensor((m, 4), f32)");
  EXPECT_TRUE(contains(message_of([&] { f.emit_match_cast(y, matrix(m, 5)); }),
                       "match_cast can never succeed"));
  // m is not in the signature, so it is not visible to callers.
  EXPECT_EQ(to_string(f.finish(y)->result), "Tensor(ndim=2, f32)");
}

// The example of the Relax paper: deduction uses only the callee's signature.
TEST_F(Builder, CallOfAFunctionUsesItsSignature) {
  FunctionBuilder callee(module);
  Variable a = callee.param("a", matrix(n, m));
  Variable flat = callee.emit_op("reshape", {a, make_shape({n * m})});
  module.functions["flatten"] = callee.finish(flat);

  FunctionBuilder f(module);
  Var b = make_var("b");
  Variable x = f.param("x", matrix(b, 4));
  Variable y = f.emit(make_call(make_global("flatten"), {x}));
  EXPECT_EQ(to_string(y->annotation), "Tensor((b*4,), f32)");
  Variable coarse = f.param("c", tensor_annotation_ndim(2, kF32));
  EXPECT_EQ(to_string(f.emit(make_call(make_global("flatten"), {coarse}))->annotation),
            "Tensor(ndim=1, f32)");

  Variable vector = f.param("v", tensor_annotation({b}, kF32));
  std::string text = message_of([&] { f.emit(make_call(make_global("flatten"), {vector})); });
  EXPECT_TRUE(contains(text, "@flatten: argument 0 does not fit the signature"));
  EXPECT_TRUE(contains(text, "Tensor((n, m), f32)"));
  EXPECT_TRUE(contains(message_of([&] { f.emit(make_call(make_global("flatten"), {})); }),
                       "wrong number of arguments"));
  EXPECT_TRUE(contains(message_of([&] { f.emit(make_call(make_global("no"), {x})); }),
                       "no function is called @no"));
}

TEST_F(Builder, CallsCheckDimensionsThatUnificationLeavesOpen) {
  FunctionBuilder callee(module);
  Variable a = callee.param("a", matrix(n, n * 2));
  module.functions["f"] = callee.finish(a);
  FunctionBuilder f(module);
  Variable good = f.param("x", matrix(m + 1, m * 2 + 2)), bad = f.param("y", matrix(3, 7));
  Expr callee_name = make_global("f");
  EXPECT_EQ(to_string(f.emit(make_call(callee_name, {good}))->annotation),
            "Tensor((m + 1, m*2 + 2), f32)");
  EXPECT_TRUE(contains(message_of([&] { f.emit(make_call(callee_name, {bad})); }),
                       "argument 0 does not fit"));
}

TEST_F(Builder, ExplicitAnnotations) {
  FunctionBuilder f(module);
  Variable x = f.param("x", matrix(n, 4));
  Expr one = make_op_call("call_tir", {make_global("k"), make_tuple({x})}, {}, {matrix(n, 8)});
  EXPECT_EQ(f.emit(one)->name, "k");
  Expr two = make_op_call("call_tir", {make_global("k"), make_tuple({x})}, {},
                          {matrix(n, 8), matrix(n, 2)});
  EXPECT_EQ(to_string(f.emit(two)->annotation), "Tuple(Tensor((n, 8), f32), Tensor((n, 2), f32))");
  EXPECT_TRUE(contains(
      message_of([&] { f.emit(make_op_call("call_tir", {make_global("k"), make_tuple({x})})); }),
      "annotations of its outputs are missing"));
  Variable packed = f.emit(make_call(make_extern("p"), {x}));
  EXPECT_EQ(to_string(packed->annotation), "Object");
  EXPECT_FALSE(f.finish(x)->pure);
}

TEST_F(Builder, FunctionValues) {
  FunctionBuilder f(module);
  Annotation callable = callable_annotation({matrix(n, 4)}, tensor_annotation({n}, kF32));
  Variable g = f.param("g", callable), x = f.param("x", matrix(m, 4));
  EXPECT_EQ(to_string(f.emit(make_call(g, {x}))->annotation), "Tensor((m,), f32)");
  EXPECT_TRUE(contains(message_of([&] { f.emit(make_call(x, {x})); }), "is not a function"));
}

TEST_F(Builder, JoinAndCompatible) {
  EXPECT_EQ(to_string(join(matrix(n, 4), matrix(n, 4))), "Tensor((n, 4), f32)");
  EXPECT_EQ(to_string(join(matrix(n, 4), matrix(m, 4))), "Tensor(ndim=2, f32)");
  EXPECT_EQ(to_string(join(matrix(n, 4), matrix(n, 4, DType::kF16))), "Tensor((n, 4))");
  EXPECT_EQ(to_string(join(matrix(n, 4), shape_annotation({n}))), "Object");
  EXPECT_TRUE(compatible(matrix(n, 4), matrix(m, 4)));
  EXPECT_FALSE(compatible(matrix(n, 4), matrix(n + 1, 4)));
  EXPECT_FALSE(compatible(matrix(n, 4), tensor_annotation_ndim(3, kF32)));
  EXPECT_TRUE(compatible(matrix(n, 4), object_annotation()));
}

TEST_F(Builder, CheckAnnotationsNamesTheBinding) {
  FunctionBuilder f(module);
  Variable x = f.param("x", matrix(n, 4));
  Variable y = f.emit_op("silu", {x});
  module.functions["main"] = f.finish(y);
  check_annotations(module);

  Variable wrong = make_variable("wrong", matrix(n, 5));
  Block block{.dataflow = false, .bindings = {{wrong, make_op_call("silu", {x}), nullptr, {}}}};
  module.functions["main"] = make_function({x}, make_seq({block}, wrong), matrix(n, 5));
  std::string text = message_of([&] { check_annotations(module, "fuse"); }, ErrorKind::kInternal);
  EXPECT_TRUE(contains(text,
                       "annotation of binding wrong is Tensor((n, 5), f32), but "
                       "Tensor((n, 4), f32) is deduced after pass fuse"));
  EXPECT_TRUE(contains(text, "@main"));
}

}  // namespace
}  // namespace tapml::build
