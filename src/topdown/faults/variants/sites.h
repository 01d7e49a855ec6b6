// Places in a tensor program where a bug can be planted.
#pragma once

#include <functional>

#include "tir/queries.h"
#include "topdown/faults/variants/families.h"

namespace tapml::topdown::variants {

// A changed node, or null where the node is no place for it.
using ExprEdit = std::function<PrimExpr(const PrimExpr&)>;
using StmtEdit = std::function<tir::Stmt(const tir::Stmt&)>;

// One variant for each place that `edit` accepts.
Variants each_expr(const tir::PrimFunc& func, const ExprEdit& edit);
Variants each_stmt(const tir::PrimFunc& func, const StmtEdit& edit);

// One variant in which all places are changed that an edit accepts; none where there is no place.
// The copies that unrolling made of a statement are one site together.
Variants everywhere(const tir::PrimFunc& func, const ExprEdit& on_expr, const StmtEdit& on_stmt);

// For each tensor that the program reads one variant, in which all loads from it are changed that
// `edit` accepts.
Variants each_input(const tir::PrimFunc& func, const ExprEdit& edit);

// Of integers from memory: lengths, ids, page tables.
bool has_integer_load(const PrimExpr& expr);

void append(Variants& variants, Variants more);

}  // namespace tapml::topdown::variants
