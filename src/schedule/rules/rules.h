// The rules, each a function of one stage or one program. Private to schedule/.
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

// Every stage on every platform: one item a spatial point.
LaunchPlan one_item_a_point(const Stage& stage);

// cpu: pointwise stages. Items are pieces of the last axis; lanes run along it.
std::optional<LaunchPlan> cpu_elementwise(const Stage& stage);
// cpu: reductions; items are the spatial points but the lanes.
std::optional<LaunchPlan> cpu_reduction(const Stage& stage);
// cpu: reductions whose memory runs along the last spatial iterator (sums of columns, a vector
// times a matrix, convolutions of few channels): an item is a piece of it, as many sums as
// registers hold.
std::optional<LaunchPlan> cpu_columns(const Stage& stage, const target::VectorRegisters& vectors);
// cpu: out[rows..., column] = sum over k of a[rows..., k] * b[column, k]: register tiles of
// rows x columns, lanes along k; left-over rows and columns one by one.
std::optional<LaunchPlan> cpu_matmul(const Stage& stage);
// cpu: sums of products, left[rows..., k...] * right[..., k..., lane], from eight rows up: right is
// packed panel by panel, register tiles of rows x lanes run over it. Where the number of rows is
// only known at run time, `few_rows` says what runs for less.
std::optional<LaunchPlan> cpu_product(const Stage& stage, const target::VectorRegisters& vectors,
                                      const std::function<LaunchPlan(const Stage&)>& few_rows);
// cpu: sums of products, right[k..., lane] read from `weights` alone, any number of rows: a first
// launch packs all panels of right into global memory, which is done at load where the caller has
// the weights by then; the others read panels.
std::optional<LaunchPlan> cpu_packed(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                     const target::VectorRegisters& vectors);
// cpu: the same of quantized weights, right[lane, k...] computed from loads of `weights` at [lane,
// k // c]: these are packed as they are, and a panel is expanded where it is multiplied.
std::optional<LaunchPlan> cpu_quantized(const Stage& stage, const std::vector<tir::Buffer>& weights,
                                        const target::VectorRegisters& vectors);
// cpu: points that walk along another axis (scans), where memory runs along the last spatial
// iterator: neighbouring points walk together, as lanes.
std::optional<LaunchPlan> cpu_scan(const Stage& stage);
// cpu: stages that share their leading iterators (softmax, rms_norm, attention): one item a row
// runs all of them. What a row leaves for itself is kept in local buffers or in the output; those
// intermediates are gone from the program then.
std::optional<LaunchPlan> cpu_rows(const tir::PrimFunc& func, StagedProgram& program);

struct Group;

// gpu: pointwise stages of words whose last axis is divisible by four, known now: an invocation
// computes four points that lie side by side, which code generation loads and stores at once.
std::optional<LaunchPlan> gpu_elementwise(const Stage& stage);

// gpu: attention: one group a row goes through its positions block by block, with the largest score
// and the sums so far in local memory, however many positions there are.
std::optional<LaunchPlan> gpu_attention(const Group& group, StagedProgram& program);
// gpu: stages that share their leading iterators: one group a row runs all of them, threads share
// out the rest of the row or meet in local memory. Intermediates of a row are kept in local memory
// where they fit.
std::optional<LaunchPlan> gpu_rows(const tir::PrimFunc& func, const Group& group,
                                   StagedProgram& program);
// gpu: sums of products. "gpu_matmul" from four rows up: register tiles, the sum in steps through
// local memory; below ("gpu_vector_matrix") the threads of a group split the sums. One launch has
// both where the number of rows is only known at run time.
std::optional<LaunchPlan> gpu_product(const Stage& stage, const Group& group);
// gpu whose subgroups are lanes of a processor's vectors: sums of products of known length. Each
// lane has columns of its own and reads four elements at a time, along the sum or along its
// columns. What it reads meets several sums in registers: columns of up to four rows, or more
// columns of one.
std::optional<LaunchPlan> gpu_lane_product(const Stage& stage, const Group& group);
// gpu: reductions along memory: a group, or a team of its threads, reduces a point.
std::optional<LaunchPlan> gpu_reduction(const Stage& stage, const Group& group);

}  // namespace tapml::schedule
