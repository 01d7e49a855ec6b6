// Reference of the matrix product.
#include "op/reference/matrix_product.h"

namespace tapml::op::reference {

namespace {

// Shape and storage of an operand: (rows, columns), read through its transpose flag.
struct Operand {
  const RefTensor& tensor;
  Shape batch;
  size_t rows = 1, columns = 1;
  bool transposed = false;

  Operand(const RefTensor& t, bool left, bool transpose) : tensor(t) {
    size_t rank = t.shape.size();
    if (rank == 1) {
      (left ? columns : rows) = static_cast<size_t>(t.shape[0]);
      return;
    }
    transposed = transpose;
    batch.assign(t.shape.begin(), t.shape.end() - 2);
    rows = static_cast<size_t>(t.shape[rank - (transposed ? 1 : 2)]);
    columns = static_cast<size_t>(t.shape[rank - (transposed ? 2 : 1)]);
  }

  size_t size() const { return rows * columns; }
  size_t row_stride() const { return transposed ? 1 : columns; }
  size_t column_stride() const { return transposed ? rows : 1; }
};

// The first element of the matrix that each element of `batch` uses.
std::vector<size_t> bases_of(const Operand& operand, const Shape& batch) {
  std::vector<size_t> bases(static_cast<size_t>(element_count(batch)));
  walk(batch, broadcast_strides(operand.batch, batch), 0,
       [&](size_t i, size_t j) { bases[i] = j * operand.size(); });
  return bases;
}

}  // namespace

void matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  const Operand left(a, true, attr_or(attrs, "transpose_a", false));
  const Operand right(b, false, attr_or(attrs, "transpose_b", false));
  const Shape batch(out.shape.begin(),
                    out.shape.end() - (a.shape.size() > 1) - (b.shape.size() > 1));
  put_products(out,
               {.a = a,
                .b = b,
                .rows = left.rows,
                .columns = right.columns,
                .terms = left.columns,
                .a_lines = {left.row_stride(), left.column_stride()},
                .b_lines = {right.column_stride(), right.row_stride()},
                .a_bases = bases_of(left, batch),
                .b_bases = bases_of(right, batch)},
               ProductPolicy(a, b, out, has_half_sums(attrs)));
}

}  // namespace tapml::op::reference
