#include "topdown/faults/fault_kinds.h"

#include "ir/exceptions.h"
#include "topdown/faults/variants/families.h"

namespace tapml::topdown {

const std::vector<FaultKindInfo>& fault_kinds() {
  using enum FaultKind;
  static const std::vector<FaultKindInfo> kKinds = {
      {kOffByOne, "off-by-one", "a loop runs one time too few", variants::off_by_one},
      {kDroppedTail, "dropped-tail", "the last eighth of the work items is skipped",
       variants::dropped_tail},
      {kUnalignedTail, "unaligned-tail", "the remainder of a loop with steps of four is skipped",
       variants::unaligned_tail},
      {kGridCut, "grid-cut", "a launch has three work items at most, as if that were the limit",
       variants::grid_cut},
      {kHalfReduction, "half-reduction", "a reduction ends half way", variants::half_reduction},
      {kSubgroupWidth, "subgroup-width",
       "one step of a reduction over the threads of a work group, or of their subgroups, is "
       "missing",
       variants::subgroup_width},
      {kCausalMask, "causal-mask", "a token does not see itself", variants::causal_mask},
      {kWrongStride, "wrong-stride", "the rows of a tensor count as one element longer",
       variants::wrong_stride},
      {kTransposedIndex, "transposed-index", "the last two indices of a tensor are swapped",
       variants::transposed_index},
      {kShiftedIndex, "shifted-index", "the neighbor of each element of a tensor is read",
       variants::shifted_index},
      {kBroadcastAxis, "broadcast-axis", "a vector is broadcast along another axis",
       variants::broadcast_axis},
      {kWrongGroup, "wrong-group", "heads, rows or scales are divided into groups of one more",
       variants::wrong_group},
      {kStalePage, "stale-page", "an entry of a table of ids or pages is the previous one",
       variants::stale_page},
      {kIgnoredTable, "ignored-table", "page i of a text is taken to be row i of the pool",
       variants::ignored_table},
      {kSomeIds, "some-ids", "one id, length or page in five counts as 0", variants::some_ids},
      {kLateRows, "late-rows", "outputs are wrong from the fourth row on", variants::late_rows},
      {kWrongConstant, "wrong-constant", "a constant is a quarter too large",
       variants::wrong_constant},
      {kWrongEpsilon, "wrong-epsilon", "a small constant is ten thousand times too large",
       variants::wrong_epsilon},
      {kMissingScale, "missing-scale", "products with constants are left out",
       variants::missing_scale},
      {kSwappedOperands, "swapped-operands",
       "operands of a subtraction, a division or a selection are swapped, or two inputs of equal "
       "type",
       variants::swapped_operands},
      {kDroppedTerm, "dropped-term", "one side of an addition (a residual) is left out",
       variants::dropped_term},
      {kMissingSelect, "missing-select", "a selection always takes the same side",
       variants::missing_select},
      {kFastMath, "fast-math", "exp, tanh or rsqrt is a series that holds only near one point",
       variants::fast_math},
      {kAngleSign, "angle-sign", "angles have the opposite sign", variants::angle_sign},
      {kRopeBase, "rope-base", "rotary frequencies are those of another base", variants::rope_base},
      {kWrongAccumulation, "wrong-accumulation", "a sum is rounded to bf16 after every step",
       variants::wrong_accumulation},
      {kHalfAccumulation, "half-accumulation", "a sum is rounded to f16 after every step",
       variants::half_accumulation},
      {kTruncatedInput, "truncated-input", "an input is rounded to bf16 when it is read",
       variants::truncated_input},
      {kHalfInput, "half-input", "an input is rounded to f16 when it is read",
       variants::half_input},
      {kHalfProducts, "half-products", "the terms of a sum are rounded to f16",
       variants::half_products},
      {kSlightGain, "slight-gain", "an output is multiplied by 1.0001", variants::slight_gain},
      {kInexactFunction, "inexact-function",
       "exp, tanh, rsqrt or a division is off by one part in ten thousand",
       variants::inexact_function},
      {kSlightConstant, "slight-constant", "a constant is half a percent too large",
       variants::slight_constant},
      {kSmallerEpsilon, "smaller-epsilon", "a small constant is a tenth of what it should be",
       variants::smaller_epsilon},
      {kNarrowedInteger, "narrowed-integer", "three bits of an integer arrive in a float",
       variants::narrowed_integer},
      {kMissingZeroPoint, "missing-zero-point", "the zero point of codes is not subtracted",
       variants::missing_zero_point},
      {kNibbleOrder, "nibble-order", "the two codes of a byte are swapped", variants::nibble_order},
      {kMissingInit, "missing-init", "a sum starts from the old content of its memory",
       variants::missing_init},
      {kAliasingOutput, "aliasing-output", "an output overlaps an input that is still read",
       variants::aliasing_output},
      {kMissingBarrier, "missing-barrier", "threads of a work group do not wait for each other",
       variants::missing_barrier},
      {kSharedOverlap, "shared-overlap", "two buffers of a work group or an invocation are one",
       variants::shared_overlap},
      {kEarlyCompletion, "early-completion", "an output is read before the kernel ran", nullptr},
      {kMissingWait, "missing-wait", "the kernel runs before the one that makes its input",
       nullptr},
      {kStaleBinding, "stale-binding", "an argument stays that of the previous call", nullptr},
      {kLostLaunch, "lost-launch", "one launch in three does not run", nullptr},
      {kCrash, "crash", "a store goes to an address without memory", variants::crash},
      {kEndlessLoop, "endless-loop", "a store is repeated for longer than anyone waits",
       variants::endless_loop}};
  return kKinds;
}

const FaultKindInfo& fault_kind(FaultKind kind) {
  for (const FaultKindInfo& info : fault_kinds()) {
    if (info.kind == kind) return info;
  }
  throw_internal("the table lacks a kind of fault", "fault_kinds");
}

const char* fault_kind_name(FaultKind kind) { return fault_kind(kind).name; }

bool ends_process(FaultKind kind) {
  return kind == FaultKind::kCrash || kind == FaultKind::kEndlessLoop;
}

bool is_of_session(FaultKind kind) { return fault_kind(kind).variants == nullptr; }

std::pair<std::string, FaultKind> parse_fault(const std::string& text) {
  std::string known;
  const size_t colon = text.rfind(':');
  const std::string wanted = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const FaultKindInfo& info : fault_kinds()) {
    if (wanted == info.name) return {text.substr(0, colon), info.kind};
    known += std::string(known.empty() ? "" : "; ") + info.name + " (" + info.doc + ")";
  }
  throw_user("unknown kind of fault", "--inject-fault " + text, "KERNEL:KIND, KIND one of " + known,
             wanted.empty() ? "no kind" : wanted);
}

}  // namespace tapml::topdown
