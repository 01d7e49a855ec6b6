#include "tir/matrix.h"

namespace tapml::tir {

namespace {

struct NamedMatrixOp {
  const char* name;
  MatrixOp op;
};
constexpr NamedMatrixOp kMatrixOps[] = {{"matrix_fill", MatrixOp::kFill},
                                        {"matrix_load", MatrixOp::kLoad},
                                        {"matrix_store", MatrixOp::kStore},
                                        {"matrix_multiply_add", MatrixOp::kMultiplyAdd}};

std::shared_ptr<MatrixNode> make(MatrixOp op, Buffer fragment, int64_t width) {
  auto node = std::make_shared<MatrixNode>();
  node->op = op;
  node->fragment = std::move(fragment);
  node->width = width;
  return node;
}

Stmt with_memory(std::shared_ptr<MatrixNode> node, Buffer memory, std::vector<PrimExpr> indices,
                 PrimExpr leading, MatrixLayout layout) {
  node->memory = std::move(memory);
  node->indices = std::move(indices);
  node->leading = std::move(leading);
  node->layout = layout;
  return node;
}

int64_t extent(const BufferNode& fragment, size_t dimension) {
  if (dimension >= fragment.shape.size()) return 0;
  const PrimExpr& dim = fragment.shape[dimension];
  return dim && dim.is_int() ? dim->int_value : 0;
}

}  // namespace

const char* matrix_op_name(MatrixOp op) {
  for (const NamedMatrixOp& known : kMatrixOps) {
    if (op == known.op) return known.name;
  }
  return "";
}

std::optional<MatrixOp> find_matrix_op(std::string_view name) {
  for (const NamedMatrixOp& known : kMatrixOps) {
    if (name == known.name) return known.op;
  }
  return std::nullopt;
}

const char* matrix_layout_name(MatrixLayout layout) {
  return layout == MatrixLayout::kRowMajor ? "row_major" : "column_major";
}

Stmt make_matrix_fill(Buffer fragment, PrimExpr value, int64_t width) {
  auto node = make(MatrixOp::kFill, std::move(fragment), width);
  node->value = std::move(value);
  return node;
}

Stmt make_matrix_load(Buffer fragment, Buffer memory, std::vector<PrimExpr> indices,
                      PrimExpr leading, MatrixLayout layout, int64_t width) {
  return with_memory(make(MatrixOp::kLoad, std::move(fragment), width), std::move(memory),
                     std::move(indices), std::move(leading), layout);
}

Stmt make_matrix_store(Buffer memory, std::vector<PrimExpr> indices, Buffer fragment,
                       PrimExpr leading, MatrixLayout layout, int64_t width) {
  return with_memory(make(MatrixOp::kStore, std::move(fragment), width), std::move(memory),
                     std::move(indices), std::move(leading), layout);
}

Stmt make_matrix_multiply_add(Buffer result, Buffer left, Buffer right, Buffer accumulator,
                              int64_t width) {
  auto node = make(MatrixOp::kMultiplyAdd, std::move(result), width);
  node->left = std::move(left);
  node->right = std::move(right);
  node->accumulator = std::move(accumulator);
  return node;
}

int64_t fragment_rows(const BufferNode& fragment) { return extent(fragment, 0); }
int64_t fragment_columns(const BufferNode& fragment) { return extent(fragment, 1); }

std::vector<Buffer> read_buffers(const MatrixNode& node) {
  switch (node.op) {
    case MatrixOp::kFill:
      return {};
    case MatrixOp::kLoad:
      return {node.memory};
    case MatrixOp::kStore:
      return {node.fragment};
    case MatrixOp::kMultiplyAdd:
      return {node.left, node.right, node.accumulator};
  }
  return {};
}

const Buffer& written_buffer(const MatrixNode& node) {
  return node.op == MatrixOp::kStore ? node.memory : node.fragment;
}

bool has_matrix_product(DType left, DType right, DType accumulator) {
  if (left != right) return false;
  switch (left) {
    case DType::kF16:
      return accumulator == DType::kF32 || accumulator == DType::kF16;
    case DType::kBF16:
      return accumulator == DType::kF32;
    case DType::kI8:
      return accumulator == DType::kI32;
    default:
      return false;
  }
}

}  // namespace tapml::tir
