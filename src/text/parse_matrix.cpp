// Matrix operations and asynchronous copies (tir/matrix.h, tir/async_copy.h).
#include "base/suggest.h"
#include "text/parser_impl.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::text {

using namespace tir;  // NOLINT: every name below is one of tir's

// "x[i, k]" of a load or of a store.
Parser::Element Parser::element() {
  const Token& name = expect_name("a buffer");
  Element result;
  result.buffer = buffer(name);
  expect("[", "the buffer's name");
  result.indices = scalar_list("]");
  check_rank(name, *result.buffer, result.indices.size());
  return result;
}

MatrixLayout Parser::matrix_layout() {
  for (MatrixLayout layout : {MatrixLayout::kRowMajor, MatrixLayout::kColumnMajor}) {
    if (accept(matrix_layout_name(layout))) return layout;
  }
  unexpected("row_major or column_major");
}

// "c = matrix_fill(f32(0.0), 32)" and the other operations whose result is a fragment.
Stmt Parser::matrix_operation() {
  const Token& name = advance();
  Buffer result = buffer(name);
  expect("=", "the fragment's name");
  const auto op = peek().kind == TokenKind::kName ? find_matrix_op(peek().text) : std::nullopt;
  if (!op || *op == MatrixOp::kStore) {
    unexpected("matrix_fill, matrix_load or matrix_multiply_add");
  }
  advance();
  expect("(", "the operation");
  auto fragment = [&]() -> Buffer {
    Buffer operand = buffer(expect_name("a fragment"));
    expect(",", "the fragment");
    return operand;
  };
  auto width = [&] {
    const int64_t value = integer();
    expect(")", "the width of the subgroups");
    return value;
  };
  if (*op == MatrixOp::kFill) {
    PrimExpr value = scalar();
    expect(",", "the value");
    return make_matrix_fill(std::move(result), std::move(value), width());
  }
  if (*op == MatrixOp::kMultiplyAdd) {
    Buffer left = fragment(), right = fragment(), accumulator = fragment();
    return make_matrix_multiply_add(std::move(result), std::move(left), std::move(right),
                                    std::move(accumulator), width());
  }
  Element from = element();
  expect(",", "the element");
  PrimExpr leading = scalar();
  expect(",", "the leading dimension");
  const MatrixLayout layout = matrix_layout();
  expect(",", "the layout");
  return make_matrix_load(std::move(result), std::move(from.buffer), std::move(from.indices),
                          std::move(leading), layout, width());
}

// "matrix_store(c, n, row_major, 32)", after "y[i, j] =".
Stmt Parser::matrix_store(Buffer memory, std::vector<PrimExpr> indices) {
  advance();
  expect("(");
  Buffer fragment = buffer(expect_name("a fragment"));
  expect(",", "the fragment");
  PrimExpr leading = scalar();
  expect(",", "the leading dimension");
  const MatrixLayout layout = matrix_layout();
  expect(",", "the layout");
  const int64_t width = integer();
  expect(")", "the width of the subgroups");
  return make_matrix_store(std::move(memory), std::move(indices), std::move(fragment),
                           std::move(leading), layout, width);
}

// "copy_async(xs[0, r, c +: 8], x[i, k +: 8])", "commit_copies()" and "wait_copies(1)".
Stmt Parser::call_statement() {
  const Token& name = advance();
  const std::string text = name_text(name);
  expect("(");
  Stmt result;
  if (text == "copy_async") {
    Region to = region();
    expect(",", "the box of the shared buffer");
    result = make_copy_async(std::move(to), region());
  } else if (text == "commit_copies") {
    result = make_commit_copies();
  } else if (text == "wait_copies") {
    result = make_wait_copies(integer());
  } else {
    fail(name, "'" + text + "' is not a statement", "copy_async, commit_copies or wait_copies",
         suggestion(text, {"copy_async", "commit_copies", "wait_copies"}));
  }
  expect(")", "the operands");
  return result;
}

}  // namespace tapml::text
