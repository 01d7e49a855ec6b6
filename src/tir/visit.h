// Walking and rewriting statements.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "tir/prim_func.h"

namespace tapml::tir {

// Calls `on_stmt` on every statement (outside in) and `on_expr` on every expression in a statement
// (roots only; use visit_expr to go inside). Either may be empty.
void visit(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const PrimExpr&)>& on_expr = {});

// Rebuilds a statement bottom-up. `on_expr` rewrites each root expression; `on_stmt` sees each
// statement with its parts already rewritten and returns its replacement, or null to keep it.
// Unchanged parts stay shared. Regions of blocks are rewritten through `on_expr` too.
Stmt rewrite(const Stmt& stmt, const std::function<PrimExpr(const PrimExpr&)>& on_expr,
             const std::function<Stmt(const Stmt&)>& on_stmt = {});

Stmt substitute(const Stmt& stmt, const VarMap& values);

using BufferMap = std::map<const BufferNode*, Buffer>;
// Replaces the mapped buffers in loads, stores and regions.
Stmt replace_buffers(const Stmt& stmt, const BufferMap& buffers);
PrimExpr replace_buffers(const PrimExpr& expr, const BufferMap& buffers);

// Buffers that are loaded / stored anywhere below.
std::set<const BufferNode*> loaded_buffers(const Stmt& stmt);
std::set<const BufferNode*> stored_buffers(const Stmt& stmt);

// A copy with fresh loop variables, block iterators, local buffers and lets: needed before the same
// body is used twice.
Stmt refresh_vars(const Stmt& stmt);

// Reads and writes of a block body as boxes over the block's iterators (points where an index
// cannot be bounded tighter).
void infer_regions(BlockNode& block);

}  // namespace tapml::tir
