// The schedule primitives: each takes a tensor program and returns one that computes the same, or
// refuses with a UserError that says why and what to do. Loops are named by their variables, blocks
// by their names; both keep their names through every primitive unless its comment says otherwise.
//
// "Exact" primitives keep the order in which every element is computed, so results are equal bit
// for bit; "reassociating" ones change the order of a sum (or product) of floats.
//
// Every primitive leaves these true (check_invariants), and refuses where it would not:
//   S1  A block with init under a reduction loop that may make no step has nothing but loops
//   between
//       that loop and itself, and its iterator is that loop's variable. (Else the initial value
//       would be lost where there is no step: decompose the reduction first.)
//   S2  Iterations of parallel, work-group, thread and vectorized loops do not depend on each
//   other;
//       a vectorized loop holds one block and no loop, and may sum.
//   S3  A work-group loop stands in no other loop; a thread loop stands in one, with only loops
//       between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::schedule::primitives {

// ---- loops

// Exact. One loop as several, outermost first, whose extents are `factors`; one of these may be
// absent and is then the loop's extent divided by the others, rounded up. What lies beyond the
// extent is cut off by the predicates of the blocks below.
// Requires: a serial loop; factors of 1 or more; a product that is provably not below the extent,
// and with which no index overflows.
struct Split {
  tir::PrimFuncRef func;
  std::vector<Var> loops;
};
Split split(const tir::PrimFunc& func, const Var& loop,
            const std::vector<std::optional<int64_t>>& factors);

// Exact. Two loops as one; `inner` is all that stands in `outer`.
// Requires: both serial; the inner extent does not use the outer variable; an index for their
// product.
struct Fuse {
  tir::PrimFuncRef func;
  Var loop;
};
Fuse fuse(const tir::PrimFunc& func, const Var& outer, const Var& inner);

// Loops of one perfect nest in another order; those not named stay where they are.
// Requires: of two loops that change places, one carries no dependence, or both are of one
// reduction whose order is free (then reassociating, else exact); no extent uses a variable that
// would come to stand inside.
tir::PrimFuncRef reorder(const tir::PrimFunc& func, const std::vector<Var>& loops);

// Exact. Iterations may run at the same time.
// Requires: a serial loop; iterations that provably write different elements, and read none that
// another one writes; no parallel or work-group loop around or inside.
tir::PrimFuncRef parallel(const tir::PrimFunc& func, const Var& loop);

// Iterations may run as lanes. Exact, but reassociating over a sum.
// Requires: a serial loop around one block and no other loop; independent iterations, or a
// reduction whose order is free and whose initial value is set outside.
tir::PrimFuncRef vectorize(const tir::PrimFunc& func, const Var& loop);

// Exact. Requires: a serial loop of constant extent, at most 256.
tir::PrimFuncRef unroll(const tir::PrimFunc& func, const Var& loop);

// Exact. `axis` is "workgroup" (the groups of a launch) or "thread" (invocations of a group); a
// thread loop's extent becomes the function's workgroup_threads.
// Requires: what parallel requires; a work-group loop stands in no loop; a thread loop has a
// constant extent of at most 1024 and a work-group loop around, with only loops between.
tir::PrimFuncRef bind(const tir::PrimFunc& func, const Var& loop, const std::string& axis);

// ---- stages in memory

// Exact. The block reads a copy of the buffer, made by a new block right before the block's nest.
// Requires: nothing in that nest writes the buffer.
struct NewBlock {
  tir::PrimFuncRef func;
  std::string block;
};
NewBlock cache_read(const tir::PrimFunc& func, const std::string& block, const std::string& buffer);

// Exact. The block computes into a new buffer, which a new block copies right behind the nest.
// Requires: the block alone writes its buffer in that nest, provably each element once, and nothing
// else there reads it; a reduction has its init.
NewBlock cache_write(const tir::PrimFunc& func, const std::string& block);

// Exact. The buffer that the block writes lives inside `loop` only, in memory of `scope` ("local"
// or "shared"), as small as what one iteration touches. Requires: an intermediate; all that touches
// it stands inside the loop; a box of constant size; the first to touch it provably writes all that
// is read.
tir::PrimFuncRef store_at(const tir::PrimFunc& func, const std::string& block, const Var& loop,
                          const std::string& scope);

// Exact. Pads dimension `dim` + 1 of the buffer that the block writes, so that the stride of
// dimension `dim` is `offset` modulo `factor` elements.
// Requires: an intermediate; 0 <= offset < factor; a dimension behind `dim`, of which all further
// ones are 1 where it is not the last.
tir::PrimFuncRef storage_align(const tir::PrimFunc& func, const std::string& block, int64_t dim,
                               int64_t factor, int64_t offset);

// ---- where stages are computed

// Exact. The block moves into `loop`, before what reads its results there, and computes in each
// iteration the box that this iteration reads; its own loops are forgotten.
// Requires: one writer of an intermediate, out[v0, v1, ...], in loops of its own; all readers stand
// inside the loop; nothing between writes what it reads.
tir::PrimFuncRef compute_at(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// Exact. The block moves into `loop`, behind the one that writes what it reads, and computes in
// each iteration what that iteration's results allow; its own loops are forgotten. Requires: no
// reduction, in loops of its own; one producer inside the loop, complete there, whose iterations
// write disjoint boxes; each point reads the producer's buffer at one plain element.
tir::PrimFuncRef reverse_compute_at(const tir::PrimFunc& func, const std::string& block,
                                    const Var& loop);

// Exact. Readers compute the block's value themselves; the block and its buffer go.
// Requires: the only writer of an intermediate, out[v0, v1, ...] = value without reduction,
// provably for every element; nothing between writes what the value reads.
tir::PrimFuncRef inline_block(const tir::PrimFunc& func, const std::string& block);

// Exact. The block goes into the only producer of what it reads, which then stores the block's
// value. Requires: both pointwise over the same shape; the block is the only reader.
tir::PrimFuncRef reverse_inline(const tir::PrimFunc& func, const std::string& block);

// ---- reductions

// Reassociating. Partial results for each value of the reduction loop `loop` go to a workspace with
// that loop as first dimension; a new block of the old name sums them up. Returned is the name of
// the block of the partial results, in whose nest `loop` is a spatial loop now. Requires: out[...]
// = op(out[...], term) with an operation whose order is free, its loops provably visiting every
// iterator's value once, nothing else in its nest.
NewBlock rfactor(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// Exact. The init becomes a block of its own (returned), in loops right before `loop`.
// Requires: the block's loops provably visit every value once; `loop` stands around all its
// reduction loops; nothing else inside reads or writes its buffer before it.
NewBlock decompose_reduction(const tir::PrimFunc& func, const std::string& block, const Var& loop);

// The nest at `loop` is replaced by the named intrinsic (tensor_intrinsics.h).
// Requires: a perfect nest of one block that computes just what the intrinsic describes: extents,
// dtypes, kinds of iterators and indices provably agree.
tir::PrimFuncRef tensorize(const tir::PrimFunc& func, const Var& loop,
                           const std::string& intrinsic);

// ---- after each

// Loops that the given program marks already: parallel and its kin are taken at their word as long
// as the same blocks stand inside.
struct Trusted {
  std::vector<std::pair<Var, std::vector<std::string>>> loops;
};
Trusted find_trusted(const tir::PrimFunc& func);
// UserError in the name of the primitive where S1 to S3 do not hold; InternalError where the
// structural verifier complains.
void check_invariants(const tir::PrimFunc& func, const std::string& primitive,
                      const std::string& subject, const Trusted& trusted);

}  // namespace tapml::schedule::primitives
