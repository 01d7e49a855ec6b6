// Where loops and blocks stand in a tensor program, and how a program with one statement exchanged
// is made: what every primitive starts from and ends with.
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
  // Loops on the path, outermost first; the statement itself counts.
  std::vector<tir::Stmt> loops() const;
  // The loops of the path that stand inside `loop`, that one included.
  std::vector<tir::Stmt> loops_from(const Var& loop) const;
  bool is_block() const { return stmt()->kind == tir::StmtKind::kBlock; }
  const tir::BlockNode& block() const { return tir::as<tir::BlockNode>(stmt()); }
  const tir::ForNode& loop() const { return tir::as<tir::ForNode>(stmt()); }
  bool is_inside(const tir::Stmt& outer) const;
  // "block sum", "a store to y"
  std::string describe() const;
};

// InternalError where nothing has the name / the variable.
Site find_block(const tir::PrimFunc& func, const std::string& name);
Site find_loop(const tir::PrimFunc& func, const Var& var);
// The alloc of a buffer; an empty path where it is a parameter.
Site find_alloc(const tir::PrimFunc& func, const tir::BufferNode* buffer);

// Blocks, and stores and barriers outside blocks, in program order; below `root` where given (a
// statement of the program).
std::vector<Site> leaves(const tir::PrimFunc& func, const tir::Stmt& root = nullptr);
// The loop of the path that stands in no other one; the statement itself where there is none.
const tir::Stmt& nest_of(const Site& site);
// Leaves of the nests from the one of `first` to the one of `last`, both included.
std::vector<Site> leaves_between(const tir::PrimFunc& func, const Site& first, const Site& last);
// Whether `a` stands before `b` in the program's text.
bool is_before(const tir::PrimFunc& func, const tir::Stmt& a, const tir::Stmt& b);

// `root` with one statement (by identity) exchanged; an empty sequence removes it.
tir::Stmt replace(const tir::Stmt& root, const tir::Stmt& statement, const tir::Stmt& with);
// Without empty loops, branches and sequences, and without allocations that nothing uses.
tir::Stmt prune(const tir::Stmt& stmt);
tir::PrimFuncRef with_body(const tir::PrimFunc& func, tir::Stmt body);
// `buffer` as a workspace around all of `body`.
tir::Stmt add_workspace(const tir::Buffer& buffer, const tir::Stmt& body);
// `block` with its name and statements exchanged and its regions found anew.
tir::Stmt make_block(tir::BlockNode block);

// What is known at a place: dimensions are not negative, the loops around run at least once there.
arith::Analyzer context(const tir::PrimFunc& func, const Site& site);
arith::Analyzer context(const tir::PrimFunc& func, const std::vector<tir::Stmt>& loops);
// The most that an extent can be, at least 1. One of i64 of which nothing is known is at most 2^62,
// since no loop of more steps ever ends; a narrower one may take its whole range.
int64_t most_steps(const PrimExpr& extent, arith::Analyzer& analyzer);

// A name that no block of the program has: `base`, `base_1`, ...
std::string fresh_block_name(const tir::PrimFunc& func, const std::string& base);

// `expr` with the lets inside bound to variables of their own: needed where it is placed twice.
PrimExpr refresh_lets(const PrimExpr& expr);

// UserError: the primitive cannot be applied. `subject` is "loop i" or "block sum".
[[noreturn]] void refuse(const std::string& primitive, const std::string& subject,
                         const std::string& reason, const std::string& hint);

}  // namespace tapml::schedule
