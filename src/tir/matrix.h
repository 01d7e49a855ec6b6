// Operations of matrix units on fragments: small matrices that the threads of a subgroup hold
// together (buffers of fragment scope).
//
//   c = matrix_fill(f32(0.0), 32)                     every element is the value
//   a = matrix_load(x[i, k], 40, row_major, 32)       a[r, s] = element r*40 + s after x[i, k]
//   b = matrix_load(w[j, k], 64, column_major, 32)    b[r, s] = element s*64 + r after w[j, k]
//   c = matrix_multiply_add(a, b, c, 32)              c = a * b + c; a of m x k, b of k x n
//   elements y[i, j] = matrix_store(c, n, row_major, 32)       the inverse of a load
//
// The second operand of a load or store is the leading dimension: the distance, in elements of the
// memory, between the rows (or columns) of the fragment. The last operand is the width of the
// subgroups, as in tir/subgroup.h, and the threads of a subgroup reach an operation together
// (invariant T11). A load sees what a load of each element by any thread of the subgroup would see,
// so barriers are needed as for these.
//
// multiply_add computes products and sums in the dtype of the accumulator, in any order.
#pragma once

#include <optional>
#include <string_view>

#include "tir/stmt.h"

namespace tapml::tir {

enum class MatrixOp : uint8_t { kFill, kLoad, kStore, kMultiplyAdd };
enum class MatrixLayout : uint8_t { kRowMajor, kColumnMajor };

const char* matrix_op_name(MatrixOp op);  // "matrix_fill", ...
std::optional<MatrixOp> find_matrix_op(std::string_view name);
const char* matrix_layout_name(MatrixLayout layout);  // "row_major", "column_major"

struct MatrixNode : StmtNode {
  MatrixNode() : StmtNode(StmtKind::kMatrix) {}
  MatrixOp op = MatrixOp::kFill;
  Buffer fragment;  // the result; of a store the source

  PrimExpr value;  // of a fill

  // Of a load or store: the element (0, 0) of the fragment is at memory[indices].
  Buffer memory;
  std::vector<PrimExpr> indices;
  PrimExpr leading;  // i64
  MatrixLayout layout = MatrixLayout::kRowMajor;

  Buffer left, right, accumulator;  // of a multiply_add

  int64_t width = 0;
};

Stmt make_matrix_fill(Buffer fragment, PrimExpr value, int64_t width);
Stmt make_matrix_load(Buffer fragment, Buffer memory, std::vector<PrimExpr> indices,
                      PrimExpr leading, MatrixLayout layout, int64_t width);
Stmt make_matrix_store(Buffer memory, std::vector<PrimExpr> indices, Buffer fragment,
                       PrimExpr leading, MatrixLayout layout, int64_t width);
Stmt make_matrix_multiply_add(Buffer result, Buffer left, Buffer right, Buffer accumulator,
                              int64_t width);

// The extents of a fragment: constant in a verified program, else 0.
int64_t fragment_rows(const BufferNode& fragment);
int64_t fragment_columns(const BufferNode& fragment);

// The buffers that the operation reads and the one that it writes.
std::vector<Buffer> read_buffers(const MatrixNode& node);
const Buffer& written_buffer(const MatrixNode& node);

// Dtypes of left, right and accumulator that matrix units multiply: f16 or bf16 to f32, i8 to i32,
// f16 to f16.
bool has_matrix_product(DType left, DType right, DType accumulator);

}  // namespace tapml::tir
