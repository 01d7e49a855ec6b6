// A product of matrices by fragments, from shared memory that asynchronous copies fill one tile
// ahead. m and n are multiples of 32, k of 16.
#pragma once

#include <string>

namespace tapml::testing {

// `before_use` stands before the tile is read: "wait_copies(1) barrier" in a correct program.
inline std::string matrix_program(const std::string& before_use = "wait_copies(1) barrier") {
  return R"(
prim def product(x: Buffer((m, k), f16), w: Buffer((k, n), f16), out y: Buffer((m, n), f32),
                 m: i64, k: i64, n: i64) {workgroup_threads: 64} {
  for i in workgroup(m//32) {
    for j in workgroup(n//32) {
      alloc xs: Buffer((2, 32, 16), f16, shared, strides=(768, 24, 1))
      alloc ws: Buffer((2, 16, 32), f16, shared, strides=(640, 40, 1))
      for t in thread(64) {
        alloc left: Buffer((16, 16), f16, fragment)
        alloc right: Buffer((16, 16), f16, fragment)
        alloc sum: Buffer((16, 16), f32, fragment)
        alloc next: Buffer((16, 16), f32, fragment)
        sum = matrix_fill(f32(0.0), 32)
        next = matrix_fill(f32(0.0), 32)
        copy_async(xs[0, t//2, t%2*8 +: 8], x[i*32 + t//2, t%2*8 +: 8])
        copy_async(ws[0, t//4, t%4*8 +: 8], w[t//4, j*32 + t%4*8 +: 8])
        commit_copies()
        for s in serial(k//16) {
          if s + 1 < k//16 {
            copy_async(xs[(s + 1)%2, t//2, t%2*8 +: 8],
                       x[i*32 + t//2, (s + 1)*16 + t%2*8 +: 8])
            copy_async(ws[(s + 1)%2, t//4, t%4*8 +: 8],
                       w[(s + 1)*16 + t//4, j*32 + t%4*8 +: 8])
          }
          commit_copies()
          )" +
         before_use + R"(
          left = matrix_load(xs[s%2, t//32*16, 0], 24, row_major, 32)
          right = matrix_load(ws[s%2, 0, 0], 40, row_major, 32)
          sum = matrix_multiply_add(left, right, sum, 32)
          right = matrix_load(ws[s%2, 0, 16], 40, row_major, 32)
          next = matrix_multiply_add(left, right, next, 32)
          barrier
        }
        wait_copies(0)
        y[i*32 + t//32*16, j*32] = matrix_store(sum, n, row_major, 32)
        y[i*32 + t//32*16, j*32 + 16] = matrix_store(next, n, row_major, 32)
      }
    }
  }
}
)";
}

}  // namespace tapml::testing
