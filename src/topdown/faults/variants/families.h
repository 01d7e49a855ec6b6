// Injected faults by family: for each kind every way to inject it into a scheduled implementation,
// one site each. All but ends_process() kinds stay inside their buffers.
#pragma once

#include <vector>

#include "tir/prim_func.h"

namespace tapml::topdown::variants {

using Variants = std::vector<tir::PrimFuncRef>;

// Loops: skipped iterations and work items.
Variants off_by_one(const tir::PrimFunc& func);
Variants dropped_tail(const tir::PrimFunc& func);
Variants unaligned_tail(const tir::PrimFunc& func);
Variants grid_cut(const tir::PrimFunc& func);
Variants half_reduction(const tir::PrimFunc& func);
Variants subgroup_width(const tir::PrimFunc& func);
Variants causal_mask(const tir::PrimFunc& func);

// Index arithmetic: reads of wrong elements.
Variants wrong_stride(const tir::PrimFunc& func);
Variants transposed_index(const tir::PrimFunc& func);
Variants shifted_index(const tir::PrimFunc& func);
Variants broadcast_axis(const tir::PrimFunc& func);
Variants wrong_group(const tir::PrimFunc& func);
Variants stale_page(const tir::PrimFunc& func);
Variants ignored_table(const tir::PrimFunc& func);
Variants some_ids(const tir::PrimFunc& func);
Variants late_rows(const tir::PrimFunc& func);

// Values: wrong computations.
Variants wrong_constant(const tir::PrimFunc& func);
Variants wrong_epsilon(const tir::PrimFunc& func);
Variants missing_scale(const tir::PrimFunc& func);
Variants swapped_operands(const tir::PrimFunc& func);
Variants dropped_term(const tir::PrimFunc& func);
Variants missing_select(const tir::PrimFunc& func);
Variants fast_math(const tir::PrimFunc& func);
Variants angle_sign(const tir::PrimFunc& func);
Variants rope_base(const tir::PrimFunc& func);

// Types: values rounded, truncated or unpacked wrongly.
Variants wrong_accumulation(const tir::PrimFunc& func);
Variants half_accumulation(const tir::PrimFunc& func);
Variants truncated_input(const tir::PrimFunc& func);
Variants narrowed_integer(const tir::PrimFunc& func);
Variants missing_zero_point(const tir::PrimFunc& func);
Variants nibble_order(const tir::PrimFunc& func);

// Precision: results that are nearly right, in every element.
Variants half_input(const tir::PrimFunc& func);
Variants half_products(const tir::PrimFunc& func);
Variants slight_gain(const tir::PrimFunc& func);
Variants inexact_function(const tir::PrimFunc& func);
Variants slight_constant(const tir::PrimFunc& func);
Variants smaller_epsilon(const tir::PrimFunc& func);

// Memory: wrong contents.
Variants missing_init(const tir::PrimFunc& func);
Variants aliasing_output(const tir::PrimFunc& func);
Variants missing_barrier(const tir::PrimFunc& func);
Variants shared_overlap(const tir::PrimFunc& func);

// Ends: a process that crashes or hangs.
Variants crash(const tir::PrimFunc& func);
Variants endless_loop(const tir::PrimFunc& func);

}  // namespace tapml::topdown::variants
