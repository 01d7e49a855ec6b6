#include "relax/tail_call.h"

#include <gtest/gtest.h>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::relax {
namespace {

// The body of main with these bindings and this result.
SeqNode body(const std::string& text) {
  static Module module;  // owns the inspected bindings
  module = text::parse(
      "def f(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n  return x\n}\n"
      "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n" +
          text + "}\n",
      "test");
  return body_of(*as_relax_function(module.find("main")));
}

Annotation any_vector() { return tensor_annotation_ndim(1, DType::kF32); }

TEST(TailCall, TheLastBindingIsReturnedUnchanged) {
  const SeqNode seq =
      body("  a: Tensor((n,), f32) = exp(x)\n  b: Tensor((n,), f32) = @f(a)\n  return b\n");
  const Binding* last = returned_binding(seq);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->var->name, "b");
  EXPECT_TRUE(is_tail_call(*last, any_vector()));
}

TEST(TailCall, LaterBindingsAndChecksPreventATailCall) {
  EXPECT_EQ(returned_binding(body("  return x\n")), nullptr);
  EXPECT_EQ(
      returned_binding(body("  a: Tensor((n,), f32) = @f(x)\n  b: Tensor((n,), f32) = exp(a)\n"
                            "  return a\n")),
      nullptr);
  EXPECT_EQ(returned_binding(body("  b: Tensor((n,), f32) = match_cast(x, Tensor((n,), f32))\n"
                                  "  return b\n")),
            nullptr);
}

TEST(TailCall, OperatorsAndUncertainResultsAreNotTailCalls) {
  const SeqNode op = body("  b: Tensor((n,), f32) = exp(x)\n  return b\n");
  EXPECT_FALSE(is_tail_call(*returned_binding(op), any_vector()));
  const SeqNode call = body("  b: Tensor((n,), f32) = @f(x)\n  return b\n");
  EXPECT_FALSE(is_tail_call(*returned_binding(call), tensor_annotation({4}, DType::kF32)));
}

}  // namespace
}  // namespace tapml::relax
