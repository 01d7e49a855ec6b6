// The parser's ranges of symbolic variables: relax/symbol_ranges.h.
#include "relax/symbol_ranges.h"

#include <gtest/gtest.h>

#include "ir/symbol.h"
#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::text {
namespace {

// "n 0, k -": each variable of the function with its least value, in order of first occurrence.
std::string ranges(const std::string& parameters, const std::string& bindings = "") {
  const Module module =
      parse("module\ndef main(" + parameters + ") -> Object {\n" + bindings + "return prim(0)\n}",
            "test");
  const relax::Function& function = *relax::as_relax_function(module.find("main"));
  std::vector<Var> vars = relax::signature_vars(function);
  relax::visit_bindings(function.body, [&](const relax::Binding& binding, bool) {
    relax::collect_vars(binding.var->annotation, vars);
  });
  std::string text;
  for (const Var& var : vars) {
    const std::optional<int64_t> least = least_value(var);
    text += (text.empty() ? "" : ", ") + var->name + " " + (least ? std::to_string(*least) : "-");
  }
  return text;
}

TEST(SymbolRanges, OnlyTensorsHaveSizes) {
  EXPECT_EQ(ranges("x: Tensor((n, 4, m), f32)"), "n 0, m 0");
  EXPECT_EQ(ranges("s: Shape((n, m)), w: Prim(i64, k)"), "n -, m -, k -");
  EXPECT_EQ(ranges("s: Shape((n, m)), x: Tensor((n,), f32)"), "n 0, m -") << "in whatever order";
  EXPECT_EQ(ranges("t: Tuple(Prim(i64, k), Tuple(Tensor((n,), f32)))"), "k -, n 0");
}

TEST(SymbolRanges, DimensionsThatAreExpressions) {
  EXPECT_EQ(ranges("x: Tensor((n - 1,), f32)"), "n 1");
  // A solved variable is checked to be at least 0.
  EXPECT_EQ(ranges("x: Tensor((n + 1,), f32)"), "n 0");
  EXPECT_EQ(ranges("x: Tensor((10 - n,), f32)"), "n 0");
  // Not if something else determines the value.
  EXPECT_EQ(ranges("x: Tensor((n + 1,), f32), s: Shape((n,))"), "n -1");
  EXPECT_EQ(ranges("x: Tensor((n*m,), f32), s: Shape((n, m))"), "n -, m -");
  EXPECT_EQ(ranges("s: Shape((n + 1,))"), "n -");
}

TEST(SymbolRanges, CastsAndFunctionValues) {
  const std::string x = "x: Tensor((n,), f32), v: Object";
  EXPECT_EQ(ranges(x, "y: Tensor((m,), f32) = match_cast(v, Tensor((m,), f32))\n"), "n 0, m 0");
  EXPECT_EQ(ranges(x, "y: Shape((m,)) = match_cast(v, Shape((m,)))\n"), "n 0, m -");
  // Bound earlier, by a value that may be negative.
  EXPECT_EQ(ranges("w: Prim(i64, k), v: Object",
                   "y: Tensor((k,), f32) = match_cast(v, Tensor((k,), f32))\n"),
            "k -");
  EXPECT_EQ(ranges("f: Callable((Tensor((p,), f32)), Object), s: Shape((q,))"), "p -, q -")
      << "p belongs to the function";
}

TEST(SymbolRanges, ShapesOfTensorsHoldSizes) {
  const std::string reads = "s: Shape(ndim=1) = tensor_to_shape(x)\n";
  EXPECT_EQ(ranges("x: Tensor((1,), i64)", reads + "y: Shape((k,)) = match_cast(s, Shape((k,)))\n"),
            "k 0");
  EXPECT_EQ(ranges("x: Tensor(ndim=1, i64)",
                   "s: Shape(ndim=1) = shape_of(x)\ny: Shape((k,)) = match_cast(s, Shape((k,)))\n"),
            "k 0");
}

}  // namespace
}  // namespace tapml::text
