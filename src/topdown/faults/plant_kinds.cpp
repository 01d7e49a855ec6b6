#include "topdown/faults/plant_kinds.h"

#include "ir/exceptions.h"
#include "topdown/faults/plants/families.h"

namespace tapml::topdown {

const std::vector<PlantKindInfo>& plant_kinds() {
  using enum PlantKind;
  static const std::vector<PlantKindInfo> kKinds = {
      {kOffByOne, "off-by-one", "a loop runs one time too few", plants::off_by_one},
      {kDroppedTail, "dropped-tail", "the last eighth of the work items is left out",
       plants::dropped_tail},
      {kUnalignedTail, "unaligned-tail", "what is left behind a loop's steps of four is not done",
       plants::unaligned_tail},
      {kGridCut, "grid-cut", "a launch has three work items at most, as if that were the limit",
       plants::grid_cut},
      {kHalfReduction, "half-reduction", "a reduction ends half way", plants::half_reduction},
      {kSubgroupWidth, "subgroup-width",
       "one step of a reduction over the threads of a work group is missing",
       plants::subgroup_width},
      {kCausalMask, "causal-mask", "a token does not see itself", plants::causal_mask},
      {kWrongStride, "wrong-stride", "the rows of a tensor are taken to be one element longer",
       plants::wrong_stride},
      {kTransposedIndex, "transposed-index", "the last two indices of a tensor change places",
       plants::transposed_index},
      {kShiftedIndex, "shifted-index", "the neighbour of each element of a tensor is read",
       plants::shifted_index},
      {kBroadcastAxis, "broadcast-axis", "a vector is broadcast along another axis",
       plants::broadcast_axis},
      {kWrongGroup, "wrong-group", "heads, rows or scales are divided into groups of one more",
       plants::wrong_group},
      {kStalePage, "stale-page", "an entry of a table of ids or pages is the one before it",
       plants::stale_page},
      {kSomeIds, "some-ids", "one id, length or page in five is taken for 0", plants::some_ids},
      {kLateRows, "late-rows", "outputs are wrong from the fourth row on", plants::late_rows},
      {kWrongConstant, "wrong-constant", "a constant is a quarter too large",
       plants::wrong_constant},
      {kWrongEpsilon, "wrong-epsilon", "a small constant is ten thousand times too large",
       plants::wrong_epsilon},
      {kMissingScale, "missing-scale", "products with constants are left out",
       plants::missing_scale},
      {kSwappedOperands, "swapped-operands",
       "of a subtraction, a division or a selection, or two inputs of equal type",
       plants::swapped_operands},
      {kDroppedTerm, "dropped-term", "one side of an addition (a residual) is left out",
       plants::dropped_term},
      {kMissingSelect, "missing-select", "a selection takes the same side always",
       plants::missing_select},
      {kFastMath, "fast-math", "exp, tanh or rsqrt is a series that holds near one point only",
       plants::fast_math},
      {kAngleSign, "angle-sign", "angles turn the other way", plants::angle_sign},
      {kRopeBase, "rope-base", "rotary frequencies are those of another base", plants::rope_base},
      {kWrongAccumulation, "wrong-accumulation", "a sum is rounded to bf16 after every step",
       plants::wrong_accumulation},
      {kHalfAccumulation, "half-accumulation", "a sum is rounded to f16 after every step",
       plants::half_accumulation},
      {kTruncatedInput, "truncated-input", "an input is rounded to bf16 when it is read",
       plants::truncated_input},
      {kNarrowedInteger, "narrowed-integer", "three bits of an integer arrive in a float",
       plants::narrowed_integer},
      {kMissingZeroPoint, "missing-zero-point", "the zero point of codes is not subtracted",
       plants::missing_zero_point},
      {kNibbleOrder, "nibble-order", "the two codes of a byte change places", plants::nibble_order},
      {kMissingInit, "missing-init", "a sum starts from what was there before",
       plants::missing_init},
      {kAliasingOutput, "aliasing-output", "an output lies over an input that is still read",
       plants::aliasing_output},
      {kMissingBarrier, "missing-barrier", "threads of a work group do not wait for each other",
       plants::missing_barrier},
      {kSharedOverlap, "shared-overlap", "two buffers of a work group or an invocation are one",
       plants::shared_overlap},
      {kEarlyCompletion, "early-completion", "an output is read before the kernel ran", nullptr},
      {kMissingWait, "missing-wait", "the kernel runs before the one that makes its input",
       nullptr},
      {kStaleBinding, "stale-binding", "an argument stays that of the call before", nullptr},
      {kLostLaunch, "lost-launch", "one launch in three does not run", nullptr},
      {kCrash, "crash", "a store goes to an address where nothing is", plants::crash},
      {kEndlessLoop, "endless-loop", "a store is repeated for longer than anyone waits",
       plants::endless_loop}};
  return kKinds;
}

const PlantKindInfo& plant_kind(PlantKind kind) {
  for (const PlantKindInfo& info : plant_kinds()) {
    if (info.kind == kind) return info;
  }
  throw_internal("a kind of fault that is not in the table", "plant_kinds");
}

const char* plant_kind_name(PlantKind kind) { return plant_kind(kind).name; }

bool ends_process(PlantKind kind) {
  return kind == PlantKind::kCrash || kind == PlantKind::kEndlessLoop;
}

bool is_of_session(PlantKind kind) { return plant_kind(kind).variants == nullptr; }

std::pair<std::string, PlantKind> parse_plant(const std::string& text) {
  std::string known;
  const size_t colon = text.rfind(':');
  const std::string wanted = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const PlantKindInfo& info : plant_kinds()) {
    if (wanted == info.name) return {text.substr(0, colon), info.kind};
    known += std::string(known.empty() ? "" : "; ") + info.name + " (" + info.doc + ")";
  }
  throw_user("unknown kind of fault", "--inject-fault " + text, "KERNEL:KIND, KIND one of " + known,
             wanted.empty() ? "no kind" : wanted);
}

}  // namespace tapml::topdown
