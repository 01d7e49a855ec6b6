// Matrix operations and asynchronous copies (tir/matrix.h, tir/async_copy.h).
#include "text/printer_impl.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::text {

using namespace tir;  // NOLINT: every name below is one of tir's

void Printer::matrix(const MatrixNode& node) {
  auto fragment = [&](const Buffer& buffer) { name_of(buffer.get(), buffer->name); };
  if (node.op == MatrixOp::kStore) {
    buffer_access(*node.memory, node.indices);
  } else {
    fragment(node.fragment);
  }
  out_ += std::string(" = ") + matrix_op_name(node.op) + "(";
  switch (node.op) {
    case MatrixOp::kFill:
      scalar(node.value);
      break;
    case MatrixOp::kLoad:
      buffer_access(*node.memory, node.indices);
      break;
    case MatrixOp::kStore:
      fragment(node.fragment);
      break;
    case MatrixOp::kMultiplyAdd:
      fragment(node.left);
      out_ += ", ";
      fragment(node.right);
      out_ += ", ";
      fragment(node.accumulator);
      break;
  }
  if (node.memory) {
    out_ += ", ";
    scalar(node.leading);
    out_ += std::string(", ") + matrix_layout_name(node.layout);
  }
  out_ += ", " + std::to_string(node.width) + ")";
}

void Printer::async(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kCopyAsync) {
    out_ += "copy_async(";
    region(as<CopyAsyncNode>(stmt).to);
    out_ += ", ";
    region(as<CopyAsyncNode>(stmt).from);
    out_ += ")";
  } else if (stmt->kind == StmtKind::kCommitCopies) {
    out_ += "commit_copies()";
  } else {
    out_ += "wait_copies(" + std::to_string(as<WaitCopiesNode>(stmt).outstanding) + ")";
  }
}

}  // namespace tapml::text
