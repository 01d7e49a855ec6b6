// Square tiles that change their order in registers. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <vector>

#include "tir/stmt.h"

namespace tapml::codegen {

// for row in vectorized(size) { for column in unrolled(size) { to[..., row] = from[..., column] }
// }: memory runs along the rows on one side and along the columns on the other.
struct Transposition {
  int64_t size;
  Var row, column;
  const tir::StoreNode* store;
};
std::optional<Transposition> find_transposition(const tir::ForNode& loop);

// `rows` are as many vectors of as many elements, a power of two: the vectors of the transpose.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows);

}  // namespace tapml::codegen
