// Direct calls of library routines: programs before and after they become kernels, and calls that
// are refused.
#include "passes/outline_library.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "support/expect_error.h"

namespace tapml::passes {
namespace {

TEST(OutlineLibrary, ACallBecomesAKernelWithoutLoops) {
  expect_becomes(legalize, R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  y: Tensor((n, 8), f32) = call_dps_library(extern "scale", (x,), Tensor((n, 8), f32)) {parameters: [3]}
  return y
}
)",
                 R"(

def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  y: Tensor((n, 8), f32) = call_tir(@scale_fe4fbca0, (x,), Tensor((n, 8), f32))
  return y
}

def scale_fe4fbca0(
    x0: Tensor((n, 8), f32)
) -> Tensor((n, 8), f32) {implementation: "scale_fe4fbca0_impl", kernel: true} {
  dataflow {
    y: Tensor((n, 8), f32) = call_dps_library(extern "scale", (x0,), Tensor((n, 8), f32)) {parameters: [3]}
    output y
  }
  return y
}

prim def scale_fe4fbca0_impl(
    x0: Buffer((n, 8), f32),
    out y: Buffer((n, 8), f32),
    n: i64
) {library: "scale", spec: "scale_fe4fbca0"} {
}
)");
}

// The caller passes n, which no dimension states by itself.
TEST(OutlineLibrary, SymbolsThatNoTensorGivesArePassed) {
  expect_becomes(legalize, R"(
def main(x: Tensor((2*n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = call_dps_library(extern "halve", (x,), Tensor((n,), f32))
  return y
}
)",
                 R"(

def halve_8d64f909(
    x0: Tensor((2*n,), f32),
    s: Shape((n,))
) -> Tensor((n,), f32) {implementation: "halve_8d64f909_impl", kernel: true} {
  dataflow {
    y: Tensor((n,), f32) = call_dps_library(extern "halve", (x0,), Tensor((n,), f32))
    output y
  }
  return y
}

prim def halve_8d64f909_impl(
    x0: Buffer((2*n,), f32),
    out y: Buffer((n,), f32),
    n: i64
) {library: "halve", spec: "halve_8d64f909"} {
}

def main(x: Tensor((2*n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = call_tir(@halve_8d64f909, (x,), shape(n), Tensor((n,), f32))
  return y
}
)");
  // Without a tensor, all of them.
  expect_becomes(legalize, R"(
def main(s: Shape((n,))) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = call_dps_library(extern "noise", (), Tensor((n,), f32))
  return y
}
)",
                 R"(

def main(s: Shape((n,))) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = call_tir(@noise_cfea6778, (), shape(n), Tensor((n,), f32))
  return y
}

def noise_cfea6778(
    s: Shape((n,))
) -> Tensor((n,), f32) {implementation: "noise_cfea6778_impl", kernel: true} {
  dataflow {
    y: Tensor((n,), f32) = call_dps_library(extern "noise", (), Tensor((n,), f32))
    output y
  }
  return y
}

prim def noise_cfea6778_impl(
    out y: Buffer((n,), f32),
    n: i64
) {library: "noise", spec: "noise_cfea6778"} {
}
)");
}

// The name of a kernel has letters, digits and underscores only; the routine keeps its name.
TEST(OutlineLibrary, SeveralOutputsAndAnOrigin) {
  expect_becomes(legalize, R"(
def main(x: Tensor((2*n,), f32), w: Tensor((n, k), f16)) -> Tuple(Tensor((n,), f32), Tensor((k,), i32)) {
  dataflow {
    r: Tuple(Tensor((n,), f32), Tensor((k,), i32)) = call_dps_library(extern "my.top-k", (x, w), Tensor((n,), f32), Tensor((k,), i32)) @origin("layers.0")
    output r
  }
  return r
}
)",
                 R"(

def main(
    x: Tensor((2*n,), f32),
    w: Tensor((n, k), f16)
) -> Tuple(Tensor((n,), f32), Tensor((k,), i32)) {
  dataflow {
    r: Tuple(Tensor((n,), f32), Tensor((k,), i32)) = call_tir(@my_top_k_01325bf7, (x, w), Tensor((n,), f32), Tensor((k,), i32)) @origin("layers.0")
    output r
  }
  return r
}

def my_top_k_01325bf7(
    x0: Tensor((2*n,), f32),
    x1: Tensor((n, k), f16)
) -> Tuple(Tensor((n,), f32), Tensor((k,), i32)) {implementation: "my_top_k_01325bf7_impl", kernel: true} {
  dataflow {
    y: Tuple(Tensor((n,), f32), Tensor((k,), i32)) = call_dps_library(extern "my.top-k", (x0, x1), Tensor((n,), f32), Tensor((k,), i32))
    output y
  }
  return y
}

prim def my_top_k_01325bf7_impl(
    x0: Buffer((2*n,), f32),
    x1: Buffer((n, k), f16),
    out y0: Buffer((n,), f32),
    out y1: Buffer((k,), i32),
    n: i64,
    k: i64
) {library: "my.top-k", spec: "my_top_k_01325bf7"} {
}
)");
}

// Whatever their symbolic variables are called, but not with other parameters.
TEST(OutlineLibrary, EqualCallsShareAKernel) {
  expect_becomes(legalize, R"(
def main(x: Tensor((n,), f32), z: Tensor((m,), f32)) -> Tensor((m,), f32) {
  dataflow {
    a: Tensor((n,), f32) = call_dps_library(extern "scale", (x,), Tensor((n,), f32))
    b: Tensor((n,), f32) = call_dps_library(extern "scale", (a,), Tensor((n,), f32))
    c: Tensor((m,), f32) = call_dps_library(extern "scale", (z,), Tensor((m,), f32))
    d: Tensor((m,), f32) = call_dps_library(extern "scale", (c,), Tensor((m,), f32)) {parameters: [2]}
    output d
  }
  return d
}
)",
                 R"(

def main(x: Tensor((n,), f32), z: Tensor((m,), f32)) -> Tensor((m,), f32) {
  dataflow {
    a: Tensor((n,), f32) = call_tir(@scale_29259f44, (x,), Tensor((n,), f32))
    b: Tensor((n,), f32) = call_tir(@scale_29259f44, (a,), Tensor((n,), f32))
    c: Tensor((m,), f32) = call_tir(@scale_29259f44, (z,), Tensor((m,), f32))
    d: Tensor((m,), f32) = call_tir(@scale_c98903ac, (c,), Tensor((m,), f32))
    output d
  }
  return d
}

def scale_29259f44(
    x0: Tensor((n,), f32)
) -> Tensor((n,), f32) {implementation: "scale_29259f44_impl", kernel: true} {
  dataflow {
    y: Tensor((n,), f32) = call_dps_library(extern "scale", (x0,), Tensor((n,), f32))
    output y
  }
  return y
}

prim def scale_29259f44_impl(
    x0: Buffer((n,), f32),
    out y: Buffer((n,), f32),
    n: i64
) {library: "scale", spec: "scale_29259f44"} {
}

def scale_c98903ac(
    x0: Tensor((m,), f32)
) -> Tensor((m,), f32) {implementation: "scale_c98903ac_impl", kernel: true} {
  dataflow {
    y: Tensor((m,), f32) = call_dps_library(extern "scale", (x0,), Tensor((m,), f32)) {parameters: [2]}
    output y
  }
  return y
}

prim def scale_c98903ac_impl(
    x0: Buffer((m,), f32),
    out y: Buffer((m,), f32),
    m: i64
) {library: "scale", spec: "scale_c98903ac"} {
}
)");
}

void expect_call_refused(const std::string& params, const std::string& call,
                         const std::string& result, const std::string& message) {
  const Module module = text::parse("def main(" + params + ") -> " + result + " {\n  y: " + result +
                                        " = " + call + "\n  return y\n}",
                                    "m.txt");
  const auto status = guard([&] { return legalize(module); });
  ASSERT_FALSE(status) << call;
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
  EXPECT_EQ(status.error().to_string(), message);
}

TEST(OutlineLibrary, TensorsNeedAShapeAndADtype) {
  expect_call_refused("x: Tensor(ndim=1, f32)",
                      "call_dps_library(extern \"scale\", (x,), Tensor((4,), f32))",
                      "Tensor((4,), f32)",
                      R"(an argument of library routine scale has no known shape and dtype
  where: call of "scale"
  expected: Tensor(shape, dtype)
  found: Tensor(ndim=1, f32)
  hint: a match_cast before the call gives it one)");
  expect_call_refused("x: Tensor((4,), f32)",
                      "call_dps_library(extern \"scale\", (x,), Tensor((4,)))", "Tensor((4,))",
                      R"(an output of library routine scale has no known shape and dtype
  where: call of "scale"
  expected: Tensor(shape, dtype)
  found: Tensor((4,))
  hint: state the output's shape and dtype in the call)");
}

TEST(OutlineLibrary, TheCallNamesARoutineAndATupleOfTensors) {
  for (const char* call :
       {"call_dps_library(x, Tensor((4,), f32))", "call_dps_library(x, (x,), Tensor((4,), f32))",
        "call_dps_library(extern \"scale\", x, Tensor((4,), f32))",
        "call_dps_library(extern \"scale\", (x,), (x,), Tensor((4,), f32))"}) {
    expect_call_refused(
        "x: Tensor((4,), f32)", call, "Tensor((4,), f32)",
        R"(call_dps_library takes a routine, a tuple of tensors and the annotations of its outputs
  where: call_dps_library
  expected: call_dps_library(extern "name", (x, y), Tensor((n,), f32)))");
  }
}

}  // namespace
}  // namespace tapml::passes
