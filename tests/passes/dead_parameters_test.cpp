// Unused parameters: programs before and after the pass.
#include "passes/dead_parameters.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(DeadParameters, CallsPassOnlyWhatIsRead) {
  expect_becomes(remove_dead_parameters, R"(
def scaled(x: Tensor((n,), f32), unused: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  dataflow {
    y: Tensor((n,), f32) = add(x, x)
    output y
  }
  return y
}
def main(x: Tensor((n,), f32), z: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @scaled(x, z)
  return y
}
)",
                 R"(
def main(x: Tensor((n,), f32), z: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @scaled(x)
  return y
}

def scaled(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  dataflow {
    y: Tensor((n,), f32) = add(x, x)
    output y
  }
  return y
}
)");
}

// @open is public, @value is used as a value, and `gives_m` determines a variable that is needed.
TEST(DeadParameters, SignaturesThatOthersSeeStay) {
  expect_becomes(remove_dead_parameters, R"(
def open(x: Tensor((n,), f32), unused: Tensor((n,), f32)) -> Tensor((n,), f32) {
  return x
}
def value(x: Tensor((n,), f32), unused: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  return x
}
def sized(x: Tensor((n,), f32), gives_m: Tensor((m,), f32)) -> Tensor((m,), f32) {private: true} {
  y: Tensor((m,), f32) = full(shape(m)) {value: 1.0, dtype: f32}
  return y
}
def main(x: Tensor((n,), f32), z: Tensor((m,), f32)) -> Tensor((m,), f32) {
  f: Callable((Tensor((n,), f32), Tensor((n,), f32)), Tensor((n,), f32)) = @value
  a: Tensor((n,), f32) = f(x, x)
  b: Tensor((n,), f32) = @open(a, x)
  c: Tensor((m,), f32) = @sized(b, z)
  return c
}
)",
                 R"(
def main(x: Tensor((n,), f32), z: Tensor((m,), f32)) -> Tensor((m,), f32) {
  f: Callable((Tensor((n,), f32), Tensor((n,), f32)), Tensor((n,), f32)) = @value
  a: Tensor((n,), f32) = f(x, x)
  b: Tensor((n,), f32) = @open(a, x)
  c: Tensor((m,), f32) = @sized(z)
  return c
}

def open(x: Tensor((n,), f32), unused: Tensor((n,), f32)) -> Tensor((n,), f32) {
  return x
}

def sized(gives_m: Tensor((m,), f32)) -> Tensor((m,), f32) {private: true} {
  y: Tensor((m,), f32) = full(shape(m)) {dtype: f32, value: 1.0}
  return y
}

def value(x: Tensor((n,), f32), unused: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  return x
}
)");
}

TEST(DeadParameters, PassingToItselfIsNotAUse) {
  expect_becomes(remove_dead_parameters, R"(
def repeat(x: Tensor((n,), f32), unused: Tensor((n,), f32), k: Prim(i64)) -> Tensor((n,), f32) {private: true} {
  more: Prim(bool) = prim(0 < 3)
  r: Tensor((n,), f32) = if (more) {
    y: Tensor((n,), f32) = exp(x)
    z: Tensor((n,), f32) = @repeat(y, unused, k)
    yield z
  } else {
    yield x
  }
  return r
}
def main(x: Tensor((n,), f32), u: Tensor((n,), f32), k: Prim(i64)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @repeat(x, u, k)
  return y
}
)",
                 R"(
def main(x: Tensor((n,), f32), u: Tensor((n,), f32), k: Prim(i64)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @repeat(x)
  return y
}

def repeat(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  more: Prim(bool) = prim(0 < 3)
  r: Tensor((n,), f32) = if (more) {
    y: Tensor((n,), f32) = exp(x)
    z: Tensor((n,), f32) = @repeat(y)
    yield z
  } else {
    yield x
  }
  return r
}
)");
}

// k may be negative: solved from k + 8 it would be a size.
TEST(DeadParameters, KeepWhatWouldBecomeASize) {
  expect_becomes(remove_dead_parameters, R"(
def scaled(s: Shape((k,)), x: Tensor((k + 8,), f32)) -> Tensor((k + 8,), f32) {private: true} {
  y: Tensor((k + 8,), f32) = exp(x)
  return y
}
def sized(s: Shape((k,)), x: Tensor((k,), f32)) -> Tensor((k,), f32) {private: true} {
  y: Tensor((k,), f32) = exp(x)
  return y
}
def main(p: Prim(i64, k), x: Tensor((k + 8,), f32), u: Tensor((n,), f32)) -> Tuple(Tensor((k + 8,), f32), Tensor((n,), f32)) {
  y: Tensor((k + 8,), f32) = @scaled(shape(k), x)
  z: Tensor((n,), f32) = @sized(shape(n), u)
  return (y, z)
}
)",
                 R"(
def main(p: Prim(i64, k), x: Tensor((k + 8,), f32), u: Tensor((n,), f32)) -> Tuple(Tensor((k + 8,), f32), Tensor((n,), f32)) {
  y: Tensor((k + 8,), f32) = @scaled(shape(k), x)
  z: Tensor((n,), f32) = @sized(u)
  return (y, z)
}

def scaled(s: Shape((k,)), x: Tensor((k + 8,), f32)) -> Tensor((k + 8,), f32) {private: true} {
  y: Tensor((k + 8,), f32) = exp(x)
  return y
}

def sized(x: Tensor((k,), f32)) -> Tensor((k,), f32) {private: true} {
  y: Tensor((k,), f32) = exp(x)
  return y
}
)");
}

}  // namespace
}  // namespace tapml::passes
