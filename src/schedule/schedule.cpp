#include "schedule/schedule.h"

#include <set>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "schedule/primitives/site.h"
#include "tir/async_copy.h"
#include "tir/scalar_ranges.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

PrimFuncRef with_unique_names(const PrimFuncRef& func) {
  std::set<std::string> taken;
  for (const Site& leaf : leaves(*func)) {
    if (leaf.is_block()) taken.insert(leaf.block().name);
  }
  std::set<std::string> seen;
  Stmt body = func->body;
  for (const Site& leaf : leaves(*func)) {
    if (!leaf.is_block() || seen.insert(leaf.block().name).second) continue;
    BlockNode block = leaf.block();
    std::string name = block.name;
    for (int i = 1; !taken.insert(name).second; ++i) name = block.name + "_" + std::to_string(i);
    block.name = name;
    seen.insert(name);
    body = replace(body, leaf.stmt(), std::make_shared<BlockNode>(std::move(block)));
  }
  return body == func->body ? func : with_body(*func, body);
}

void check_schedulable(const PrimFunc& func) {
  visit(func.body, [](const Stmt& s) {
    if (s->kind != StmtKind::kMatrix && !is_async(s)) return;
    throw_user("the program has matrix operations or asynchronous copies", "", "", "",
               "schedule programs without them");
  });
  for (const Site& leaf : leaves(func)) {
    if (!leaf.is_block()) continue;
    bool nested = false;
    for (const Stmt& part : {leaf.block().init, leaf.block().body}) {
      visit(part, [&](const Stmt& s) { nested |= s->kind == StmtKind::kBlock; });
    }
    if (nested) {
      throw_user("block " + leaf.block().name + " contains other blocks", "", "", "",
                 "schedule programs whose blocks hold plain statements");
    }
  }
  auto written = stored_buffers(func.body);
  visit(func.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kFor) return;
    visit_expr(as<ForNode>(s).extent, [&](const PrimExpr& e) {
      if (e.kind() != tapml::ExprKind::kLoad || !written.contains(load_buffer(e).get())) return;
      throw_user("the extent of loop " + as<ForNode>(s).var->name + " is loaded from " +
                     load_buffer(e)->name + ", which the program writes",
                 "", "", "", "schedule programs whose extents do not change while they run");
    });
  });
}

}  // namespace

Schedule::Schedule(PrimFuncRef func) {
  check_schedulable(*func);
  func_ = with_unique_names(with_counted_loops(func));
  trusted_ = primitives::find_trusted(*func_);
}

std::vector<Block> Schedule::blocks() const {
  std::vector<Block> result;
  for (const Site& leaf : leaves(*func_)) {
    if (leaf.is_block()) result.push_back({leaf.block().name});
  }
  return result;
}

void Schedule::require(const Block& block) const {
  const std::vector<Block> known = blocks();
  if (std::ranges::find(known, block.name, &Block::name) != known.end()) return;
  throw_user("the program has no block named " + block.name, "",
             "one of " + join(known, &Block::name), block.name);
}

void Schedule::require(const Loop& loop) const {
  bool found = false;
  for (const Site& leaf : leaves(*func_)) {
    for (const Stmt& stmt : leaf.loops()) found |= as<ForNode>(stmt).var.same_as(loop.var);
  }
  if (found) return;
  throw_user("loop " + loop.var->name + " no longer exists", "", "a loop of the program",
             loop.var->name,
             "ask for the loops of a block again after it was split, fused or moved");
}

std::string Schedule::new_name(const std::string& base) {
  std::string plain;
  for (char c : base) {
    bool good = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    plain += good ? c : '_';
  }
  if (plain.empty()) plain = "x";
  std::string name = plain;
  while (used_names_.contains(name)) name = plain + "_" + std::to_string(++used_names_[plain]);
  used_names_[name] = 0;
  return name;
}

std::string Schedule::define(const Loop& loop) {
  kept_.push_back(loop.var);
  return loop_names_[loop.var.get()] = new_name(loop.var->name);
}
std::string Schedule::define(const Block& block) {
  return block_names_[block.name] = new_name(block.name);
}

std::string Schedule::name_of(const Loop& loop) const {
  require(loop);
  auto it = loop_names_.find(loop.var.get());
  if (it == loop_names_.end()) {
    throw_user("loop " + loop.var->name + " was not obtained from the schedule", "", "", "",
               "get it with loops() of a block");
  }
  return it->second;
}
std::string Schedule::name_of(const Block& block) const {
  require(block);
  auto it = block_names_.find(block.name);
  if (it == block_names_.end()) {
    throw_user("block " + block.name + " was not obtained from the schedule", "", "", "",
               "get it with block()");
  }
  return it->second;
}

void Schedule::commit(PrimFuncRef next, Instruction instruction, const std::string& subject) {
  primitives::check_invariants(*next, instruction.op, subject, trusted_);
  func_ = std::move(next);
  trace_.instructions.push_back(std::move(instruction));
}

Block Schedule::block(const std::string& name) {
  Block block{name};
  require(block);
  trace_.instructions.push_back({{define(block)}, "block", {}, {name}, {}});
  return block;
}

std::vector<Loop> Schedule::loops(const Block& block) {
  Instruction instruction{{}, "loops", {name_of(block)}, {}, {}};
  std::vector<Loop> result;
  for (const Stmt& stmt : find_block(*func_, block.name).loops()) {
    Loop loop{as<ForNode>(stmt).var};
    instruction.results.push_back(define(loop));
    result.push_back(loop);
  }
  trace_.instructions.push_back(std::move(instruction));
  return result;
}

std::vector<Loop> Schedule::split(const Loop& loop, const Factors& factors) {
  Instruction instruction{{}, "split", {name_of(loop)}, {}, {{"factors", factors}}};
  primitives::Split done = primitives::split(*func_, loop.var, factors);
  commit(done.func, instruction, "loop " + loop.var->name);
  std::vector<Loop> result;
  for (const Var& var : done.loops) {
    result.push_back({var});
    trace_.instructions.back().results.push_back(define(result.back()));
  }
  return result;
}

Loop Schedule::fuse(const Loop& outer, const Loop& inner) {
  Instruction instruction{{}, "fuse", {name_of(outer), name_of(inner)}, {}, {}};
  primitives::Fuse done = primitives::fuse(*func_, outer.var, inner.var);
  commit(done.func, instruction, "loops " + outer.var->name + " and " + inner.var->name);
  Loop result{done.loop};
  trace_.instructions.back().results.push_back(define(result));
  return result;
}

void Schedule::reorder(const std::vector<Loop>& loops) {
  Instruction instruction{{}, "reorder", {}, {}, {}};
  std::vector<Var> vars;
  for (const Loop& loop : loops) {
    instruction.operands.push_back(name_of(loop));
    vars.push_back(loop.var);
  }
  commit(primitives::reorder(*func_, vars), instruction, "loops");
}

void Schedule::parallel(const Loop& loop) {
  Instruction instruction{{}, "parallel", {name_of(loop)}, {}, {}};
  commit(primitives::parallel(*func_, loop.var), instruction, "loop " + loop.var->name);
}
void Schedule::vectorize(const Loop& loop) {
  Instruction instruction{{}, "vectorize", {name_of(loop)}, {}, {}};
  commit(primitives::vectorize(*func_, loop.var), instruction, "loop " + loop.var->name);
}
void Schedule::unroll(const Loop& loop) {
  Instruction instruction{{}, "unroll", {name_of(loop)}, {}, {}};
  commit(primitives::unroll(*func_, loop.var), instruction, "loop " + loop.var->name);
}
void Schedule::bind(const Loop& loop, const std::string& axis) {
  Instruction instruction{{}, "bind", {name_of(loop)}, {axis}, {}};
  commit(primitives::bind(*func_, loop.var, axis), instruction, "loop " + loop.var->name);
}

Block Schedule::cache_read(const Block& block, const std::string& buffer) {
  Instruction instruction{{}, "cache_read", {name_of(block)}, {buffer}, {}};
  primitives::NewBlock done = primitives::cache_read(*func_, block.name, buffer);
  commit(done.func, instruction, "block " + block.name);
  trace_.instructions.back().results = {define(Block{done.block})};
  return {done.block};
}

Block Schedule::cache_write(const Block& block) {
  Instruction instruction{{}, "cache_write", {name_of(block)}, {}, {}};
  primitives::NewBlock done = primitives::cache_write(*func_, block.name);
  commit(done.func, instruction, "block " + block.name);
  trace_.instructions.back().results = {define(Block{done.block})};
  return {done.block};
}

void Schedule::store_at(const Block& block, const Loop& loop, const std::string& scope) {
  Instruction instruction{{}, "store_at", {name_of(block), name_of(loop)}, {scope}, {}};
  commit(primitives::store_at(*func_, block.name, loop.var, scope), instruction,
         "block " + block.name);
}

void Schedule::storage_align(const Block& block, int64_t dim, int64_t factor, int64_t offset) {
  Instruction instruction{{},
                          "storage_align",
                          {name_of(block)},
                          {},
                          {{"dim", dim}, {"factor", factor}, {"offset", offset}}};
  commit(primitives::storage_align(*func_, block.name, dim, factor, offset), instruction,
         "block " + block.name);
}

void Schedule::compute_at(const Block& block, const Loop& loop) {
  Instruction instruction{{}, "compute_at", {name_of(block), name_of(loop)}, {}, {}};
  commit(primitives::compute_at(*func_, block.name, loop.var), instruction, "block " + block.name);
}

void Schedule::reverse_compute_at(const Block& block, const Loop& loop) {
  Instruction instruction{{}, "reverse_compute_at", {name_of(block), name_of(loop)}, {}, {}};
  commit(primitives::reverse_compute_at(*func_, block.name, loop.var), instruction,
         "block " + block.name);
}

void Schedule::inline_block(const Block& block) {
  Instruction instruction{{}, "inline", {name_of(block)}, {}, {}};
  commit(primitives::inline_block(*func_, block.name), instruction, "block " + block.name);
}

void Schedule::reverse_inline(const Block& block) {
  Instruction instruction{{}, "reverse_inline", {name_of(block)}, {}, {}};
  commit(primitives::reverse_inline(*func_, block.name), instruction, "block " + block.name);
}

Block Schedule::rfactor(const Block& block, const Loop& loop) {
  Instruction instruction{{}, "rfactor", {name_of(block), name_of(loop)}, {}, {}};
  primitives::NewBlock done = primitives::rfactor(*func_, block.name, loop.var);
  commit(done.func, instruction, "block " + block.name);
  trace_.instructions.back().results = {define(Block{done.block})};
  return {done.block};
}

Block Schedule::decompose_reduction(const Block& block, const Loop& loop) {
  Instruction instruction{{}, "decompose_reduction", {name_of(block), name_of(loop)}, {}, {}};
  primitives::NewBlock done = primitives::decompose_reduction(*func_, block.name, loop.var);
  commit(done.func, instruction, "block " + block.name);
  trace_.instructions.back().results = {define(Block{done.block})};
  return {done.block};
}

void Schedule::tensorize(const Loop& loop, const std::string& intrinsic) {
  Instruction instruction{{}, "tensorize", {name_of(loop)}, {intrinsic}, {}};
  commit(primitives::tensorize(*func_, loop.var, intrinsic), instruction, "loop " + loop.var->name);
}

}  // namespace tapml::schedule
