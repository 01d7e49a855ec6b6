// The sizes of a matrix product a[..., m, k] by b[..., k, n] whose leading dimensions broadcast.
// For src/library/*/routines.cpp.
#pragma once

#include <tapml/library.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tapml::device {

struct ProductShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  // Index of each operand's matrix for product i of the batch; empty: i, or 0 if `single`.
  std::vector<int64_t> of[2];
  bool single[2] = {false, false};

  int64_t matrix(int operand, int64_t i) const {
    if (single[operand]) return 0;
    return of[operand].empty() ? i : of[operand][static_cast<size_t>(i)];
  }

  // Reads the first two inputs, the output and the first two parameters (transpose_a, transpose_b)
  // of `call`, which has at least `inputs` inputs. False if they are not a product.
  bool read(const tapml_library_call& call, int32_t inputs) {
    if (call.input_count < inputs || call.output_count != 1 || call.parameter_count < 2) {
      return false;
    }
    const DLTensor &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    if (a.ndim < 2 || b.ndim < 2 || c.ndim != std::max(a.ndim, b.ndim)) return false;
    transpose_a = call.parameters[0] != 0;
    transpose_b = call.parameters[1] != 0;
    m = a.shape[a.ndim - (transpose_a ? 1 : 2)];
    k = a.shape[a.ndim - (transpose_a ? 2 : 1)];
    n = b.shape[b.ndim - (transpose_b ? 2 : 1)];
    if (k != b.shape[b.ndim - (transpose_b ? 1 : 2)]) return false;
    if (c.shape[c.ndim - 2] != m || c.shape[c.ndim - 1] != n) return false;
    const int32_t rank = c.ndim - 2;
    for (int32_t d = 0; d < rank; ++d) batch *= c.shape[d];
    int side = 0;
    for (const DLTensor* operand : {&a, &b}) {
      if (!place(*operand, c, side++)) return false;
    }
    fold();
    return true;
  }

 private:
  bool place(const DLTensor& operand, const DLTensor& c, int side) {
    const int32_t rank = c.ndim - 2, lead = c.ndim - operand.ndim;
    int64_t own = 1;
    bool same = true;
    for (int32_t d = 0; d < rank; ++d) {
      int64_t size = d < lead ? 1 : operand.shape[d - lead];
      if (size != 1 && size != c.shape[d]) return false;
      own *= size;
      same &= size == c.shape[d];
    }
    single[side] = own == 1;
    if (same || own == 1) return true;
    for (int64_t i = 0; i < batch; ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int32_t d = rank; d-- > 0;) {
        int64_t size = d < lead ? 1 : operand.shape[d - lead];
        if (size != 1) at += rest % c.shape[d] * stride;
        stride *= size;
        rest /= c.shape[d];
      }
      of[side].push_back(at);
    }
    return true;
  }

  // A single matrix b: the batch becomes more rows of a.
  void fold() {
    if (!single[1] || transpose_a || batch <= 1 || !of[0].empty() || single[0]) return;
    m *= batch;
    batch = 1;
    single[0] = true;
  }
};

}  // namespace tapml::device
