// A program whose input determines where it writes.
#pragma once

namespace tapml::testing {

// Writes x[i] to y[at[i]] without a bounds check.
inline constexpr const char* kScatterProgram = R"(
module

prim def scatter(x: Buffer((n,), f32), at: Buffer((n,), i64), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) {
    block "y" (vi: spatial(n) = i) {
      reads x[vi], at[vi]
      writes y[at[vi]]
      y[at[vi]] = x[vi]
    }
  }
}

def main(x: Tensor((n,), f32), at: Tensor((n,), i64)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = call_tir(@scatter, (x, at), Tensor((n,), f32))
    output y
  }
  return y
}
)";

}  // namespace tapml::testing
