// The kinds of faults that can be injected, in one table: bugs that real backends have had.
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
  kIgnoredTable,
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
  kHalfInput,
  kHalfProducts,
  kSlightGain,
  kInexactFunction,
  kSlightConstant,
  kSmallerEpsilon,
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
  // Every way to inject it into a scheduled implementation; null for faults of the runtime, which
  // are injected into the target's session (faulty_session.h).
  std::vector<tir::PrimFuncRef> (*variants)(const tir::PrimFunc& func);
};

const std::vector<FaultKindInfo>& fault_kinds();
const FaultKindInfo& fault_kind(FaultKind kind);
const char* fault_kind_name(FaultKind kind);
// Whether a fault of this kind ends the process, or makes it hang.
bool ends_process(FaultKind kind);
// Whether it is a fault of the runtime.
bool is_of_session(FaultKind kind);

// "KERNEL:KIND" of the command line; UserError for an unknown kind (lists the known ones with
// descriptions).
std::pair<std::string, FaultKind> parse_fault(const std::string& text);

}  // namespace tapml::topdown
