#include "analysis/liveness.h"

#include <gtest/gtest.h>

#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::analysis {
namespace {

using namespace relax;  // NOLINT

const char* const kKernels = R"(
prim def k(a: Buffer((4,), f32), out b: Buffer((4,), f32)) {
  for i in serial(4) { b[i] = a[i] }
}
prim def two(a: Buffer((4,), f32), out b: Buffer((4,), f32), out c: Buffer((4,), f32)) {
  for i in serial(4) { b[i] = a[i] }
  for i in serial(4) { c[i] = a[i] }
}
)";

struct Found {
  Module module;
  Liveness live;
  const Allocation& of(const std::string& name, size_t output = 0) const {
    for (const Allocation& one : live.allocations) {
      if (one.owner->name == name && one.output == output) return one;
    }
    throw std::out_of_range(name);
  }
};

Found find(const std::string& body, bool keeps = false) {
  Found found;
  found.module = text::parse("module\n" + body + kKernels, "test");
  found.live = find_liveness(*as_relax_function(found.module.find("main")),
                             [=](const Expr&) { return keeps; });
  return found;
}

TEST(Liveness, EndsAtTheLastUseThroughViewsAndTuples) {
  Found found = find(R"(
def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = call_tir(@k, (x,), Tensor((4,), f32))
  v: Tensor((2, 2), f32) = reshape(a, shape(2, 2))
  t: Tuple(Tensor((2, 2), f32), Tensor((4,), f32)) = (v, x)
  b: Tensor((4,), f32) = call_tir(@k, (x,), Tensor((4,), f32))
  w: Tensor((2, 2), f32) = t[0]
  u: Tensor((4,), f32) = reshape(w, shape(4))
  c: Tensor((4,), f32) = call_tir(@k, (u,), Tensor((4,), f32))
  return c
}
)");
  EXPECT_EQ(found.of("a").first, 0);
  EXPECT_EQ(found.of("a").last, 6);
  EXPECT_EQ(found.of("b").last, 3) << "never used";
  EXPECT_TRUE(found.of("c").escapes);
  EXPECT_EQ(found.of("c").last, found.live.end);
  const KernelUse& use = found.live.calls.at(found.of("c").owner);
  ASSERT_EQ(use.args.size(), 1u);
  EXPECT_TRUE(use.args[0].whole);
  EXPECT_EQ(use.args[0].allocations.size(), 1u);
}

TEST(Liveness, FieldsOfATupleLiveOnTheirOwn) {
  Found found = find(R"(
def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  t: Tuple(Tensor((4,), f32), Tensor((4,), f32)) = call_tir(@two, (x,), Tensor((4,), f32), Tensor((4,), f32))
  a: Tensor((4,), f32) = t[0]
  b: Tensor((4,), f32) = t[1]
  c: Tensor((4,), f32) = call_tir(@k, (a,), Tensor((4,), f32))
  d: Tensor((4,), f32) = call_tir(@k, (b,), Tensor((4,), f32))
  return d
}
)");
  EXPECT_EQ(found.of("t", 0).last, 3);
  EXPECT_EQ(found.of("t", 1).last, 4);
}

TEST(Liveness, BranchesJoin) {
  Found found = find(R"(
def main(x: Tensor((4,), f32), c: Tensor((), bool)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = call_tir(@k, (x,), Tensor((4,), f32))
  r: Tensor((4,), f32) = if (c) {
    p: Tensor((4,), f32) = call_tir(@k, (a,), Tensor((4,), f32))
    yield p
  } else {
    yield a
  }
  y: Tensor((4,), f32) = call_tir(@k, (r,), Tensor((4,), f32))
  return y
}
)");
  EXPECT_TRUE(found.of("p").nested);
  EXPECT_EQ(found.of("p").last, found.of("y").first);
  EXPECT_EQ(found.of("a").last, found.of("y").first) << "r may be a";
  EXPECT_FALSE(found.of("a").escapes);
}

TEST(Liveness, CallsMayGiveBackTheirArguments) {
  const char* text = R"(
def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = call_tir(@k, (x,), Tensor((4,), f32))
  b: Tensor((4,), f32) = call_tir(@k, (x,), Tensor((4,), f32))
  r: Tensor((4,), f32) = @same(a, b)
  c: Tensor((4,), f32) = call_tir(@k, (r,), Tensor((4,), f32))
  return c
}
def same(x: Tensor((4,), f32), y: Tensor((4,), f32)) -> Tensor((4,), f32) { return x }
)";
  Found found = find(text);
  EXPECT_EQ(found.of("a").last, 3);
  EXPECT_EQ(found.of("b").last, 3);
  EXPECT_FALSE(found.of("a").escapes);
  EXPECT_TRUE(find(text, true).of("a").escapes) << "a callee that keeps its arguments";
}

// Each value may alias any earlier value. There are too many to distinguish, so all stay live.
TEST(Liveness, AValueWithHundredsOfAliasesKeepsThemLive) {
  constexpr int kSteps = 2000;
  std::string body = R"(
def first(a: Tensor((4,), f32), b: Tensor((4,), f32)) -> Tensor((4,), f32) {
  return a
}
def main(x0: Tensor((4,), f32)) -> Tensor((4,), f32) {
)";
  for (int i = 0; i < kSteps; ++i) {
    const std::string n = std::to_string(i);
    body += "  k" + n + ": Tensor((4,), f32) = call_tir(@k, (x0,), Tensor((4,), f32))\n";
    body +=
        "  x" + std::to_string(i + 1) + ": Tensor((4,), f32) = @first(x" + n + ", k" + n + ")\n";
  }
  body +=
      "  s: Tensor((4,), f32) = call_tir(@k, (x0,), Tensor((4,), f32))\n"
      "  t: Tensor((4,), f32) = call_tir(@k, (s,), Tensor((4,), f32))\n"
      "  return x0\n}\n";
  Found found = find(body);
  EXPECT_EQ(found.of("k0").last, found.live.end);
  EXPECT_TRUE(found.of("k0").escapes);
  EXPECT_EQ(found.of("s").last, 2 * kSteps + 1);
  EXPECT_FALSE(found.of("s").escapes);
}

}  // namespace
}  // namespace tapml::analysis
