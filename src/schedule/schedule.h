// A tensor program on its way to a schedule: primitives applied one after the other, each checked,
// all recorded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedule/primitives/primitives.h"
#include "schedule/trace.h"
#include "tir/prim_func.h"

namespace tapml::schedule {

// Stable references: a loop is its variable, a block its name. They stay good while other parts
// change; using one that is gone (split, fused, inlined) is a UserError.
struct Loop {
  Var var;
};
struct Block {
  std::string name;
};

// Programs are immutable: a primitive makes a new one or throws and leaves the schedule as it was,
// so copies of a Schedule are cheap and independent. primitives/primitives.h has what each
// primitive requires and keeps.
class Schedule {
 public:
  // Blocks of one name are renamed (name_1, ...). UserError for programs with blocks inside blocks,
  // and where a loop's extent is loaded from memory that the program writes.
  explicit Schedule(tir::PrimFuncRef func);

  const tir::PrimFuncRef& func() const { return func_; }
  const Trace& trace() const { return trace_; }
  // In program order.
  std::vector<Block> blocks() const;

  // UserError where there is none. Recorded.
  Block block(const std::string& name);
  // The loops around it, outermost first. Recorded.
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
  // Checks the new program and, if it is good, takes it and records the instruction.
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
  std::vector<Var> kept_;  // variables of loops that may be gone: their addresses stay taken
};

}  // namespace tapml::schedule
