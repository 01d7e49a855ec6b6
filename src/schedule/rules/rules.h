// The rules, each applied to one stage or one program. Private to schedule/.
#pragma once

#include <functional>
#include <optional>

#include "schedule/emit.h"
#include "target/target.h"

namespace tapml::schedule {

// One launch that computes `stage` (a loop of kind parallel, or a single point).
struct LaunchPlan {
  tir::Stmt nest;
  const char* rule;
};

// Any stage on any platform: one item for each spatial point.
LaunchPlan one_item_a_point(const Stage& stage);

// cpu: pointwise stages. Items are pieces of the last axis, vectorized.
std::optional<LaunchPlan> cpu_elementwise(const Stage& stage);
// cpu: reductions. Items are the spatial points, except for the vectorized ones.
std::optional<LaunchPlan> cpu_reduction(const Stage& stage);
// cpu: reductions whose memory is contiguous along the last spatial iterator (column sums,
// vector-matrix products, convolutions of few channels). An item is a piece of it, with as many
// sums as fit in registers.
std::optional<LaunchPlan> cpu_columns(const Stage& stage, const target::VectorRegisters& vectors);
// cpu: out[rows..., column] = sum over k of a[rows..., k] * b[column, k]: register tiles of rows x
// columns, vectorized along k; remaining rows and columns one by one.
std::optional<LaunchPlan> cpu_matmul(const Stage& stage);
// cpu: sums of products, left[rows..., k...] * right[..., k..., lane], from eight rows up: right is
// packed panel by panel and multiplied in register tiles of rows x lanes. If the number of rows is
// only known at run time, `few_rows` makes the code for fewer rows.
std::optional<LaunchPlan> cpu_product(const Stage& stage, const target::VectorRegisters& vectors,
                                      const std::function<LaunchPlan(const Stage&)>& few_rows);
// cpu: sums of products whose right[k..., lane] reads only `weights`, for any number of rows: a
// first launch packs all panels of right into global memory (at load, if the caller has the weights
// by then); the others read panels.
std::optional<LaunchPlan> cpu_packed(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                     const target::VectorRegisters& vectors);
// cpu: the same for quantized weights, with right[lane, k...] computed from loads of `weights` at
// [lane, k // c]: these are packed in compressed form, and a panel is expanded when it is
// multiplied.
std::optional<LaunchPlan> cpu_quantized(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                        const target::VectorRegisters& vectors);
// cpu: the same where left[rows..., k...] is quantized too, with the groups of the weights: sums of
// a group are integers.
std::optional<LaunchPlan> cpu_integer(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                      const target::VectorRegisters& vectors);
// cpu: sums of products with matrices that each row chooses: a first launch sorts the rows by their
// matrices, and each matrix is multiplied with its rows, so that it is read once. Quantized
// `weights` are packed as for cpu_quantized. With fewer rows than twice the matrices, each row is
// multiplied alone, by the code of `few_rows` if the weights are not packed.
std::optional<LaunchPlan> cpu_gathered(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                       const target::VectorRegisters& vectors,
                                       const std::function<LaunchPlan(const Stage&)>& few_rows);
// cpu: scans along another axis, when memory is contiguous along the last spatial iterator:
// adjacent points are vectorized.
std::optional<LaunchPlan> cpu_scan(const Stage& stage);
// cpu: stages that share their leading iterators (softmax, rms_norm, attention): one item a row
// computes all of them. A row's intermediates are kept in local buffers or in the output and are
// removed from the program.
std::optional<LaunchPlan> cpu_rows(const tir::PrimFunc& func, StagedProgram& program);

struct Group;

// gpu: pointwise stages of 32-bit elements whose last axis is a known multiple of four: an
// invocation computes four adjacent points, which code generation loads and stores at once.
std::optional<LaunchPlan> gpu_elementwise(const Stage& stage);

// gpu: attention: one group a row processes its positions block by block, with the running maximum
// and sums in local memory, for any number of positions.
std::optional<LaunchPlan> gpu_attention(const Group& group, StagedProgram& program);
// gpu: stages that share their leading iterators: one group a row computes all of them; threads
// divide the points of the row or cooperate through local memory. A row's intermediates are kept in
// local memory if they fit.
std::optional<LaunchPlan> gpu_rows(const tir::PrimFunc& func, const Group& group,
                                   StagedProgram& program);
// gpu: sums of products. "gpu_matmul", from four rows up, uses register tiles and steps through the
// sum in local memory; with fewer rows ("gpu_vector_matrix") the threads of a group split the sums.
// One launch has both if the number of rows is only known at run time.
std::optional<LaunchPlan> gpu_product(const Stage& stage, const Group& group);
// gpu whose subgroups are lanes of a CPU's vectors: sums of products of known length. Each lane has
// its own columns and reads four elements at a time, along the sum or along its columns. Each value
// read is used for several sums in registers: columns of up to four rows, or more columns of one.
std::optional<LaunchPlan> gpu_lane_product(const Stage& stage, const Group& group);
// gpu: contiguous reductions: a group, or a team of its threads, reduces each point.
std::optional<LaunchPlan> gpu_reduction(const Stage& stage, const Group& group);

}  // namespace tapml::schedule
