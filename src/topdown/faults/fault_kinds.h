// The kinds of bugs that can be planted, in one table: bugs that real backends have had.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::topdown {

enum class FaultKind : uint8_t {
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

struct FaultKindInfo {
  FaultKind kind;
  const char* name;
  const char* doc;
  // Every way of planting it into a scheduled implementation; null for bugs of the runtime, which
  // are planted into the target's session (faulty_session.h).
  std::vector<tir::PrimFuncRef> (*variants)(const tir::PrimFunc& func);
};

const std::vector<FaultKindInfo>& fault_kinds();
const FaultKindInfo& fault_kind(FaultKind kind);
const char* fault_kind_name(FaultKind kind);
// Whether a bug of this kind ends the process, or keeps it for ever.
bool ends_process(FaultKind kind);
// Whether it is one of the runtime.
bool is_of_session(FaultKind kind);

// "KERNEL:KIND" of the command line; UserError for an unknown kind (lists the known, with what each
// does).
std::pair<std::string, FaultKind> parse_fault(const std::string& text);

}  // namespace tapml::topdown
