// An attention pattern as text: four operators that become one kernel.
#pragma once

namespace tapml::testing {

inline constexpr const char* kAttentionPattern = R"(
def attention(q: Tensor((b, h, m, d), f32), k: Tensor((b, h, n, d), f32),
              v: Tensor((b, h, n, d), f32), scale: Tensor((), f32), c: Prim(bool, d <= 128))
    -> Object {pattern: true} {
  dataflow {
    s: Object = matmul(q, k) {transpose_b: true}
    t: Object = multiply(s, scale)
    p: Object = softmax(t) {axis: -1}
    o: Object = matmul(p, v)
    output o
  }
  return o
}
)";

}  // namespace tapml::testing
