#include "codegen/llvm/transpose.h"

#include "arith/analyzer.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Whether adjacent values of `var` are adjacent in memory.
bool is_contiguous(const Buffer& buffer, const std::vector<PrimExpr>& indices, const Var& var) {
  if (indices.empty() || !stride_of(buffer, indices.size() - 1).is_int(1)) return false;
  arith::Analyzer analyzer;
  VarMap next = {{var.get(), var + 1}};
  for (size_t i = 0; i < indices.size(); ++i) {
    PrimExpr step = tapml::substitute(indices[i], next) - indices[i];
    int64_t expected = i + 1 == indices.size() ? 1 : 0;
    if (!analyzer.prove_equal(step, PrimExpr(expected))) return false;
  }
  return true;
}

bool loads_nothing(const std::vector<PrimExpr>& indices) {
  bool found = false;
  for (const PrimExpr& index : indices) {
    visit_expr(index, [&](const PrimExpr& e) { found |= e.kind() == ExprKind::kLoad; });
  }
  return !found;
}

}  // namespace

std::optional<Transposition> find_transposition(const ForNode& loop) {
  if (loop.for_kind != ForKind::kVectorized || loop.body->kind != StmtKind::kFor) {
    return std::nullopt;
  }
  const auto& inner = as<ForNode>(loop.body);
  if (inner.for_kind != ForKind::kUnrolled || inner.body->kind != StmtKind::kStore) {
    return std::nullopt;
  }
  if (!loop.extent.is_int() || !inner.extent.is_int(loop.extent->int_value)) return std::nullopt;
  Transposition tile = {loop.extent->int_value, loop.var, inner.var, &as<StoreNode>(inner.body)};
  const PrimExpr& value = tile.store->value;
  if (tile.size < 2 || tile.size > 16 || (tile.size & (tile.size - 1)) != 0) return std::nullopt;
  if (value.kind() != ExprKind::kLoad || value.dtype() == DType::kBool) return std::nullopt;
  Buffer from = load_buffer(value);
  if (from == tile.store->buffer || from->dtype != tile.store->buffer->dtype) return std::nullopt;
  if (!is_contiguous(tile.store->buffer, tile.store->indices, tile.row) ||
      !is_contiguous(from, value->operands, tile.column) || !loads_nothing(tile.store->indices) ||
      !loads_nothing(value->operands)) {
    return std::nullopt;
  }
  return tile;
}

// Swaps off-diagonal blocks, from halves of the tile down to single elements.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows) {
  const size_t size = rows.size();
  for (size_t block = size / 2; block > 0; block /= 2) {
    std::vector<int> upper, lower;  // lanes of the two vectors, concatenated
    for (size_t lane = 0; lane < size; ++lane) {
      bool right = (lane & block) != 0;
      upper.push_back(static_cast<int>(right ? size + lane - block : lane));
      lower.push_back(static_cast<int>(right ? size + lane : lane + block));
    }
    for (size_t i = 0; i < size; ++i) {
      if ((i & block) != 0) continue;
      llvm::Value *a = rows[i], *b = rows[i + block];
      rows[i] = builder.CreateShuffleVector(a, b, upper);
      rows[i + block] = builder.CreateShuffleVector(a, b, lower);
    }
  }
  return rows;
}

}  // namespace tapml::codegen
