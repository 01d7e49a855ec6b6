// A schedule under construction: primitives are applied one after another, each checked and
// recorded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedule/primitives/primitives.h"
#include "schedule/trace.h"
#include "tir/prim_func.h"

namespace tapml::schedule {

// Stable references: a loop is identified by its variable, a block by its name. They stay valid
// while other parts change; using one that no longer exists (split, fused, inlined) is a UserError.
struct Loop {
  Var var;
};
struct Block {
  std::string name;
};

// Programs are immutable: a primitive makes a new one, or throws and leaves the schedule unchanged,
// so copies of a Schedule are cheap and independent. primitives/primitives.h documents what each
// primitive requires and preserves.
class Schedule {
 public:
  // Renames blocks with the same name (name_1, ...). Throws a UserError for nested blocks, and if a
  // loop's extent is loaded from memory that the program writes.
  explicit Schedule(tir::PrimFuncRef func);

  const tir::PrimFuncRef& func() const { return func_; }
  const Trace& trace() const { return trace_; }
  // In program order.
  std::vector<Block> blocks() const;

  // UserError if there is no such block. Recorded.
  Block block(const std::string& name);
  // The loops around the block, outermost first. Recorded.
  std::vector<Loop> loops(const Block& block);

  std::vector<Loop> split(const Loop& loop, const Factors& factors);
  Loop fuse(const Loop& outer, const Loop& inner);
  void reorder(const std::vector<Loop>& loops);
  void parallel(const Loop& loop);
  void vectorize(const Loop& loop);
  void unroll(const Loop& loop);
  void bind(const Loop& loop, const std::string& axis);
  Block cache_read(const Block& block, const std::string& buffer);  // the copying block
  Block cache_write(const Block& block);                            // the copying block
  void store_at(const Block& block, const Loop& loop, const std::string& scope);
  void storage_align(const Block& block, int64_t dim, int64_t factor, int64_t offset);
  void compute_at(const Block& block, const Loop& loop);
  void reverse_compute_at(const Block& block, const Loop& loop);
  void inline_block(const Block& block);
  void reverse_inline(const Block& block);
  Block rfactor(const Block& block, const Loop& loop);              // the partial results
  Block decompose_reduction(const Block& block, const Loop& loop);  // the init
  void tensorize(const Loop& loop, const std::string& intrinsic);

 private:
  // Checks the new program; if it is valid, adopts it and records the instruction.
  void commit(tir::PrimFuncRef next, Instruction instruction, const std::string& subject);
  void require(const Loop& loop) const;
  void require(const Block& block) const;
  std::string name_of(const Loop& loop) const;
  std::string name_of(const Block& block) const;
  std::string new_name(const std::string& base);
  std::string define(const Loop& loop);
  std::string define(const Block& block);

  tir::PrimFuncRef func_;
  primitives::Trusted trusted_;
  Trace trace_;
  std::map<const ExprNode*, std::string> loop_names_;
  std::map<std::string, std::string> block_names_;
  std::map<std::string, int> used_names_;
  std::vector<Var> kept_;  // keeps variables of removed loops alive, so that their addresses are
                           // not reused
};

}  // namespace tapml::schedule
