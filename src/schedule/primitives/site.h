// Locates loops and blocks in a tensor program, and replaces one statement: the basis of every
// primitive.
#pragma once

#include <string>
#include <vector>

#include "arith/analyzer.h"
#include "tir/prim_func.h"

namespace tapml::schedule {

// A statement and all statements around it.
struct Site {
  std::vector<tir::Stmt> path;  // from the program's body to the statement, both included

  const tir::Stmt& stmt() const { return path.back(); }
  // The loops on the path, outermost first, including the statement itself.
  std::vector<tir::Stmt> loops() const;
  // The loops on the path from `loop` inward, inclusive.
  std::vector<tir::Stmt> loops_from(const Var& loop) const;
  bool is_block() const { return stmt()->kind == tir::StmtKind::kBlock; }
  const tir::BlockNode& block() const { return tir::as<tir::BlockNode>(stmt()); }
  const tir::ForNode& loop() const { return tir::as<tir::ForNode>(stmt()); }
  bool is_inside(const tir::Stmt& outer) const;
  // "block sum", "a store to y"
  std::string describe() const;
};

// Throws InternalError if nothing has the name / the variable.
Site find_block(const tir::PrimFunc& func, const std::string& name);
Site find_loop(const tir::PrimFunc& func, const Var& var);
// The alloc of a buffer; an empty path if it is a parameter.
Site find_alloc(const tir::PrimFunc& func, const tir::BufferNode* buffer);

// Blocks, and stores and barriers outside blocks, in program order; below `root` if given (a
// statement of the program).
std::vector<Site> leaves(const tir::PrimFunc& func, const tir::Stmt& root = nullptr);
// The outermost loop of the path; the statement itself if there is none.
const tir::Stmt& nest_of(const Site& site);
// Leaves of the nests from the one of `first` to the one of `last`, inclusive.
std::vector<Site> leaves_between(const tir::PrimFunc& func, const Site& first, const Site& last);
// Whether `a` precedes `b` in program order.
bool is_before(const tir::PrimFunc& func, const tir::Stmt& a, const tir::Stmt& b);

// `root` with one statement (by identity) replaced; an empty sequence removes it.
tir::Stmt replace(const tir::Stmt& root, const tir::Stmt& statement, const tir::Stmt& with);
// Removes empty loops, branches and sequences, and unused allocations.
tir::Stmt prune(const tir::Stmt& stmt);
tir::PrimFuncRef with_body(const tir::PrimFunc& func, tir::Stmt body);
// Allocates `buffer` as a workspace around all of `body`.
tir::Stmt add_workspace(const tir::Buffer& buffer, const tir::Stmt& body);
// `block` with its name and statements replaced and its regions recomputed.
tir::Stmt make_block(tir::BlockNode block);

// The facts known at a site: dimensions are not negative, and each loop around it runs at least
// once.
arith::Analyzer context(const tir::PrimFunc& func, const Site& site);
arith::Analyzer context(const tir::PrimFunc& func, const std::vector<tir::Stmt>& loops);
// An upper bound on an extent, at least 1. An unbounded i64 extent is at most 2^62, since a loop of
// more steps never finishes; a narrower type may take its whole range.
int64_t most_steps(const PrimExpr& extent, arith::Analyzer& analyzer);

// A block name that the program does not use: `base`, `base_1`, ...
std::string fresh_block_name(const tir::PrimFunc& func, const std::string& base);

// `expr` with fresh variables for its lets, as needed where it is inserted twice.
PrimExpr refresh_lets(const PrimExpr& expr);

// Throws the UserError of a primitive that cannot be applied. `subject` is "loop i" or "block sum".
[[noreturn]] void refuse(const std::string& primitive, const std::string& subject,
                         const std::string& reason, const std::string& hint);

}  // namespace tapml::schedule
