// Kernel names: only equal kernels share one.
#include "passes/kernel.h"

#include <gtest/gtest.h>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

relax::FunctionRef spec_of(const std::string& op) {
  Module module = text::parse(
      "def f(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
      "y: Tensor((n, 4), f32) = " +
          op + "(x)\nreturn y }",
      "test");
  return std::make_shared<relax::Function>(*relax::as_relax_function(module.find("f")));
}

tir::PrimFuncRef copy_loops() {
  Module module = text::parse(
      "prim def f(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) {\n"
      "for i in serial(n) { for j in serial(4) { y[i, j] = x[i, j] } } }",
      "test");
  return std::make_shared<tir::PrimFunc>(*tir::as_prim_func(module.find("f")));
}

TEST(AddKernel, EqualSpecsShareANameOthersNever) {
  Module module;
  std::string exp = add_kernel(module, spec_of("exp"), copy_loops());
  EXPECT_TRUE(exp.starts_with("exp_"));
  EXPECT_EQ(add_kernel(module, spec_of("exp"), copy_loops()), exp);
  EXPECT_EQ(module.functions.size(), 2u);

  // As if silu's hash had the same 32 bits: its kernel has the name of exp's.
  Module crowded;
  std::string silu = add_kernel(crowded, spec_of("silu"), copy_loops());
  crowded.functions[exp] = crowded.functions.at(silu);
  std::string other = add_kernel(crowded, spec_of("exp"), copy_loops());
  EXPECT_NE(other, exp);
  EXPECT_TRUE(other.starts_with("exp_"));
  EXPECT_EQ(other.size(), exp.size());
  EXPECT_EQ(operators_of(kernel_spec(crowded, other)), "exp");
  EXPECT_EQ(add_kernel(crowded, spec_of("exp"), copy_loops()), other);
}

}  // namespace
}  // namespace tapml::passes
