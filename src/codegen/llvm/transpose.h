// Transposes square tiles in registers. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <vector>

#include "tir/stmt.h"

namespace tapml::codegen {

// for row in vectorized(size) { for column in unrolled(size) { to[..., row] = from[..., column] }
// }: memory is contiguous along the rows on one side and along the columns on the other.
struct Transposition {
  int64_t size;
  Var row, column;
  const tir::StoreNode* store;
};
std::optional<Transposition> find_transposition(const tir::ForNode& loop);

// `rows` is a power-of-two number of vectors with as many elements each; returns the transpose.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows);

}  // namespace tapml::codegen
