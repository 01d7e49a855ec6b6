// Sites in a tensor program where a fault can be injected.
#pragma once

#include <functional>

#include "tir/queries.h"
#include "topdown/faults/variants/families.h"

namespace tapml::topdown::variants {

// A changed node, or null if the node is not a site.
using ExprEdit = std::function<PrimExpr(const PrimExpr&)>;
using StmtEdit = std::function<tir::Stmt(const tir::Stmt&)>;

// One variant for each node that `edit` accepts.
Variants each_expr(const tir::PrimFunc& func, const ExprEdit& edit);
Variants each_stmt(const tir::PrimFunc& func, const StmtEdit& edit);

// One variant in which all nodes are changed that an edit accepts; none if there is no such node.
// The copies that unrolling made of a statement are one site.
Variants everywhere(const tir::PrimFunc& func, const ExprEdit& on_expr, const StmtEdit& on_stmt);

// One variant for each tensor that the program reads, in which all loads from it that `edit`
// accepts are changed.
Variants each_input(const tir::PrimFunc& func, const ExprEdit& edit);

// Whether it loads integers from memory: lengths, ids, page tables.
bool has_integer_load(const PrimExpr& expr);

void append(Variants& variants, Variants more);

}  // namespace tapml::topdown::variants
