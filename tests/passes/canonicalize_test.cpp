// A single canonical form of equivalent programs: programs before and after the pass.
#include "passes/canonicalize.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(Canonicalize, AliasesAndRedundantCastsAreRemoved) {
  expect_becomes(canonicalize, R"(
def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = x
  pair: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = (a, y)
  b: Tensor((n,), f32) = pair[1]
  c: Tensor((n,), f32) = match_cast(b, Tensor((n,), f32))
  r: Tensor((n,), f32) = add(a, c)
  return r
}
)",
                 R"(
def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Tensor((n,), f32) {
  r: Tensor((n,), f32) = add(x, y)
  return r
}
)");
}

// The cast checks a rank; this pass assumes that a call may have an effect.
TEST(Canonicalize, ChecksAndComputationsStay) {
  expect_stays(canonicalize, R"(
def main(x: Tensor(ndim=1, f32), y: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = match_cast(x, Tensor((n,), f32))
  b: Tensor((n,), f32) = exp(y)
  return y
}
)");
}

TEST(Canonicalize, NeighboringBlocksBecomeOne) {
  expect_becomes(canonicalize, R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    output a
  }
  dataflow {
    b: Tensor((n,), f32) = exp(a)
    output b
  }
  r: Tensor((n,), f32) = if (c) {
    d: Tensor((n,), f32) = b
    e: Tensor((n,), f32) = exp(d)
    yield e
  } else {
    yield b
  }
  return r
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = exp(a)
    output b
  }
  r: Tensor((n,), f32) = if (c) {
    e: Tensor((n,), f32) = exp(b)
    yield e
  } else {
    yield b
  }
  return r
}
)");
}

}  // namespace
}  // namespace tapml::passes
