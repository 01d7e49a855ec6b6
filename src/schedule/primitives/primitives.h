// The schedule primitives. Each takes a tensor program and returns an equivalent one, or refuses
// with a UserError that gives the reason and a remedy. Loops are named by their variables and
// blocks by their names; both keep their names unless a primitive's comment says otherwise.
//
// "Exact" primitives keep the order in which every element is computed, so results are
// bit-identical; "reassociating" ones change the order of a floating-point sum (or product).
//
// Every primitive preserves these invariants (check_invariants) or refuses:
//   S1  Between a block with init and a reduction loop around it that may run zero iterations there
//       are only loops, and the block's iterator is that loop's variable. (Otherwise the initial
//       value would be lost when the loop is empty: decompose the reduction first.)
//   S2  Iterations of parallel, work-group, thread and vectorized loops are independent; a
//       vectorized loop contains one block and no loop, and may sum.
//   S3  A work-group loop is outermost; a thread loop is inside one, with only loops in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::schedule::primitives {

// ---- loops

// Exact. Splits a loop into several, outermost first, with extents `factors`. One factor may be
// absent: it becomes the loop's extent divided by the others, rounded up. The predicates of the
// blocks inside exclude points beyond the extent.
// Requires: a serial loop; factors of 1 or more, whose product is provably at least the extent and
// causes no index overflow.
struct Split {
  tir::PrimFuncRef func;
  std::vector<Var> loops;
};
Split split(const tir::PrimFunc& func, const Var& loop,
            const std::vector<std::optional<int64_t>>& factors);

// Exact. Fuses two loops into one; `inner` must be the whole body of `outer`.
// Requires: both serial; an inner extent that does not use the outer variable; a product of the
// extents that fits the index type.
struct Fuse {
  tir::PrimFuncRef func;
  Var loop;
};
Fuse fuse(const tir::PrimFunc& func, const Var& outer, const Var& inner);

// Reorders loops of one perfect nest; loops that are not named keep their positions.
// Requires: of two loops that are swapped, one carries no dependence, or both belong to one
// reduction that may be reordered (then reassociating, otherwise exact); no extent uses a variable
// that would move inside it.
tir::PrimFuncRef reorder(const tir::PrimFunc& func, const std::vector<Var>& loops);

// Exact. Runs iterations concurrently.
// Requires: a serial loop; iterations that provably write different elements and read none that
// another one writes; no parallel or work-group loop around or inside.
tir::PrimFuncRef parallel(const tir::PrimFunc& func, const Var& loop);

// Runs iterations as vector lanes. Exact, but reassociating for a sum.
// Requires: a serial loop around one block and no other loop; independent iterations, or a
// reduction that may be reordered and whose initial value is set outside.
tir::PrimFuncRef vectorize(const tir::PrimFunc& func, const Var& loop);

// Exact. Requires: a serial loop of constant extent, at most 256.
tir::PrimFuncRef unroll(const tir::PrimFunc& func, const Var& loop);

// Exact. `axis` is "workgroup" (the groups of a launch) or "thread" (invocations of a group); a
// thread loop's extent becomes the function's workgroup_threads.
// Requires: what parallel requires; a work-group loop is outermost; a thread loop has a constant
// extent of at most 1024 and a work-group loop around it, with only loops in between.
tir::PrimFuncRef bind(const tir::PrimFunc& func, const Var& loop, const std::string& axis);

// ---- stages in memory

// Exact. The block reads a copy of the buffer, made by a new block just before the block's nest.
// Requires: nothing in that nest writes the buffer.
struct NewBlock {
  tir::PrimFuncRef func;
  std::string block;
};
NewBlock cache_read(const tir::PrimFunc& func, const std::string& block, const std::string& buffer);

// Exact. The block computes into a new buffer, which a new block copies just after the nest.
// Requires: the block is the only writer of its buffer in that nest and provably writes each
// element once, and nothing else in the nest reads it; a reduction has its init.
NewBlock cache_write(const tir::PrimFunc& func, const std::string& block);

// Exact. Allocates the buffer that the block writes inside `loop`, in memory of `scope` ("local" or
// "shared"), just large enough for one iteration. Requires: an intermediate; every access is inside
// the loop; a box of constant size; the first access provably writes everything that is read.
tir::PrimFuncRef store_at(const tir::PrimFunc& func, const std::string& block, const Var& loop,
                          const std::string& scope);

// Exact. Pads dimension `dim` + 1 of the buffer that the block writes, so that the stride of
// dimension `dim` is `offset` modulo `factor` elements.
// Requires: an intermediate; 0 <= offset < factor; a dimension after `dim`; if it is not the last,
// the further ones have extent 1.
tir::PrimFuncRef storage_align(const tir::PrimFunc& func, const std::string& block, int64_t dim,
                               int64_t factor, int64_t offset);

// ---- where stages are computed

// Exact. Moves the block into `loop`, before the readers of its results there. Each iteration
// computes the box that it reads; the block's own loops are dropped.
// Requires: the only writer of an intermediate, out[v0, v1, ...], in its own loops; all readers are
// inside the loop; nothing in between writes what the block reads.
tir::PrimFuncRef compute_at(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// Exact. Moves the block into `loop`, after the producer of what it reads. Each iteration computes
// what its results allow; the block's own loops are dropped. Requires: no reduction, in its own
// loops; one producer inside the loop, complete there, whose iterations write disjoint boxes; each
// point reads the producer's buffer at one plain element.
tir::PrimFuncRef reverse_compute_at(const tir::PrimFunc& func, const std::string& block,
                                    const Var& loop);

// Exact. Inlines the block's value into its readers and removes the block and its buffer.
// Requires: the only writer of an intermediate, out[v0, v1, ...] = value without reduction,
// provably for every element; nothing in between writes what the value reads.
tir::PrimFuncRef inline_block(const tir::PrimFunc& func, const std::string& block);

// Exact. Inlines the block into the only producer of what it reads, which then stores the block's
// value. Requires: both pointwise over the same shape; the block is the only reader.
tir::PrimFuncRef reverse_inline(const tir::PrimFunc& func, const std::string& block);

// ---- reductions

// Reassociating. Stores partial results for each value of the reduction loop `loop` in a workspace
// with that loop as its first dimension; a new block with the old name sums them. Returns the name
// of the block of partial results, in whose nest `loop` is now a spatial loop. Requires: out[...] =
// op(out[...], term) with an op that may be reordered; loops that provably visit every iterator
// value once; nothing else in the nest.
NewBlock rfactor(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// Exact. Moves the init into a block of its own (returned), in loops just before `loop`.
// Requires: the block's loops provably visit every value once; `loop` is around all its reduction
// loops; nothing else inside reads or writes its buffer before it.
NewBlock decompose_reduction(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// Replaces the nest at `loop` with the named intrinsic (tensor_intrinsics.h).
// Requires: a perfect nest of one block that computes exactly what the intrinsic describes:
// extents, dtypes, iterator kinds and indices provably agree.
tir::PrimFuncRef tensorize(const tir::PrimFunc& func, const Var& loop,
                           const std::string& intrinsic);

// ---- after each

// Loops that the input program already marks: parallel and similar marks are trusted while the same
// blocks are inside.
struct Trusted {
  std::vector<std::pair<Var, std::vector<std::string>>> loops;
};
Trusted find_trusted(const tir::PrimFunc& func);
// Throws a UserError that names the primitive if S1 to S3 do not hold, and an InternalError if the
// structural verifier rejects the program.
void check_invariants(const tir::PrimFunc& func, const std::string& primitive,
                      const std::string& subject, const Trusted& trusted);

}  // namespace tapml::schedule::primitives
