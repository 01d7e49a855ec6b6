// The kinds of bugs that can be planted, in one table: bugs that real backends have had.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::topdown {

enum class PlantKind : uint8_t {
  kOffByOne,
  kDroppedTail,
  kUnalignedTail,
  kGridCut,
  kHalfReduction,
  kSubgroupWidth,
  kCausalMask,
  kWrongStride,
  kTransposedIndex,
  kShiftedIndex,
  kBroadcastAxis,
  kWrongGroup,
  kStalePage,
  kSomeIds,
  kLateRows,
  kWrongConstant,
  kWrongEpsilon,
  kMissingScale,
  kSwappedOperands,
  kDroppedTerm,
  kMissingSelect,
  kFastMath,
  kAngleSign,
  kRopeBase,
  kWrongAccumulation,
  kHalfAccumulation,
  kTruncatedInput,
  kNarrowedInteger,
  kMissingZeroPoint,
  kNibbleOrder,
  kMissingInit,
  kAliasingOutput,
  kMissingBarrier,
  kSharedOverlap,
  kEarlyCompletion,
  kMissingWait,
  kStaleBinding,
  kLostLaunch,
  kCrash,
  kEndlessLoop,
};

struct PlantKindInfo {
  PlantKind kind;
  const char* name;
  const char* doc;
  // Every way of planting it into a scheduled implementation; null for bugs of the runtime, which
  // are planted into the target's session (planted_session.h).
  std::vector<tir::PrimFuncRef> (*variants)(const tir::PrimFunc& func);
};

const std::vector<PlantKindInfo>& plant_kinds();
const PlantKindInfo& plant_kind(PlantKind kind);
const char* plant_kind_name(PlantKind kind);
// Whether a bug of this kind ends the process, or keeps it for ever.
bool ends_process(PlantKind kind);
// Whether it is one of the runtime.
bool is_of_session(PlantKind kind);

// "KERNEL:KIND" of the command line; UserError for an unknown kind (lists the known, with what each
// does).
std::pair<std::string, PlantKind> parse_plant(const std::string& text);

}  // namespace tapml::topdown
