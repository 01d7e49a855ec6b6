// Matrix products of the reference rules. Operands are read in blocks of their terms, so that no
// operand is held in f64.
#pragma once

#include <span>

#include "op/reference/dot.h"

namespace tapml::op::reference {

// Where a matrix has its lines: rows of the first operand, columns of the second. Distances between
// elements of the tensor.
struct LineLayout {
  size_t between = 0;  // adjacent lines
  size_t along = 0;    // adjacent terms of a line
};

// Several products of equal shape: out[p] = rows of a at a_bases[p] times columns of b at
// b_bases[p].
struct MatrixProducts {
  // A product whose base is this has no terms.
  static constexpr size_t kNone = ~size_t{0};

  const RefTensor& a;
  const RefTensor& b;
  size_t rows = 0, columns = 0, terms = 0;
  LineLayout a_lines, b_lines;
  std::vector<size_t> a_bases, b_bases;  // the first element of each product's operands
  // Added to every row; null: nothing is.
  const RefTensor* bias = nullptr;
};

// Sets the wanted elements of `out`.
void put_products(RefTensor& out, const MatrixProducts& products, const ProductPolicy& policy);

}  // namespace tapml::op::reference
