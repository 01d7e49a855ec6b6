// Extents that may be negative, in hand-written tensor programs: tir/scalar_ranges.h.
#include <gtest/gtest.h>

#include "text/parser.h"
#include "text/printer.h"
#include "tir/scalar_ranges.h"

namespace tapml::text {
namespace {

std::string counted(const std::string& parameters, const std::string& body) {
  const Module module = parse("module\nprim def f(" + parameters + ") {\n" + body + "\n}", "test");
  Module result;
  const tir::PrimFunc* func = tir::as_prim_func(module.find("f"));
  result.functions["f"] = tir::with_counted_loops(std::make_shared<tir::PrimFunc>(*func));
  const std::string text = print(result);
  const size_t from = text.find("{\n") + 2;
  return text.substr(from, text.rfind('}') - from);
}

TEST(CountedLoops, DimensionsAreNeverNegative) {
  const std::string x = "x: Buffer((n - 1, m*2), f32), n: i64, m: i64";
  EXPECT_EQ(counted(x, "for i in parallel(n - 1) { for j in serial(m) { x[i, j] = f32(0.0) } }"),
            "  for i in parallel(n - 1) {\n    for j in serial(m) {\n      x[i, j] = f32(0.0)\n"
            "    }\n  }\n");
  EXPECT_EQ(counted(x, "for i in serial(n) { for j in serial(i + 1) { x[j, 0] = f32(0.0) } }"),
            "  for i in serial(n) {\n    for j in serial(i + 1) {\n      x[j, 0] = f32(0.0)\n"
            "    }\n  }\n");
}

TEST(CountedLoops, ScalarsMayBe) {
  EXPECT_EQ(counted("x: Buffer((n,), f32), n: i64, k: i64",
                    "for i in parallel(n - 10) { for j in serial(k) { x[i + j] = f32(0.0) } }"),
            "  for i in parallel(max(n - 10, 0)) {\n    for j in serial(max(k, 0)) {\n"
            "      x[i + j] = f32(0.0)\n    }\n  }\n");
}

TEST(CountedLoops, BlocksAndBuffersFollow) {
  const std::string text = counted(
      "x: Buffer((n,), f32), n: i64, k: i64",
      "alloc w: Buffer((k, 4), f32)\nfor i in serial(k) { block \"b\" (vi: spatial(k) = i) {\n"
      "w[vi, 0] = f32(1.0) x[min(vi, n - 1)] = w[vi, 0] } }");
  EXPECT_NE(text.find("Buffer((max(k, 0), 4), f32)"), std::string::npos) << text;
  EXPECT_NE(text.find("serial(max(k, 0))"), std::string::npos) << text;
  EXPECT_NE(text.find("spatial(max(k, 0))"), std::string::npos) << text;
}

}  // namespace
}  // namespace tapml::text
