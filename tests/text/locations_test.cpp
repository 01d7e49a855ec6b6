// Source positions of tensor program statements, for the verifier's messages.
#include <gtest/gtest.h>

#include "text/parser.h"
#include "tir/prim_func.h"
#include "tir/stmt.h"

namespace tapml::text {
namespace {

TEST(SourceMap, KnowsStatementsOfTensorPrograms) {
  SourceMap places;
  Module module = parse(R"(prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {
  for i in serial(4) {
    y[i] = x[i]
  }
}
)",
                        "f.txt", {.places = &places});
  const auto* func = tir::as_prim_func(module.find("f"));
  ASSERT_NE(func, nullptr);
  const auto& loop = tir::as<tir::ForNode>(func->body);
  EXPECT_EQ(places.statement(&loop).value_or("").substr(0, 9), "f.txt:2:3");
  EXPECT_EQ(places.statement(loop.body.get()).value_or("").substr(0, 9), "f.txt:3:5");
  EXPECT_EQ(places.statement(nullptr), std::nullopt);
}

}  // namespace
}  // namespace tapml::text
