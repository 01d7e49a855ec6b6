// Planted bugs: changes of a target's implementation that a migration must find. Verdicts, hybrid
// runs and reports never see that something was planted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "target/target.h"
#include "tir/prim_func.h"
#include "topdown/replay/replay.h"

namespace tapml::topdown {

enum class PlantKind : uint8_t {
  kWrongConstant,
  kOffByOne,           // a loop runs one time too few
  kDroppedTail,        // the last eighth of the work items (at least one) is left out
  kSwappedOperands,    // of a subtraction, division or selection, or two inputs of equal type
  kMissingInit,        // a sum starts from what was there before
  kWrongAccumulation,  // a sum is rounded to bf16 after every step
  kCrash,              // a store goes to an address where nothing is
  kEndlessLoop         // a store is repeated for longer than anyone waits
};
// Whether a bug of this kind ends the process, or keeps it for ever.
bool ends_process(PlantKind kind);

const std::vector<std::pair<PlantKind, const char*>>& plant_kinds();
const char* plant_kind_name(PlantKind kind);
// "KERNEL:KIND" of the command line; UserError for an unknown kind (lists the known).
std::pair<std::string, PlantKind> parse_plant(const std::string& text);

// Every way of planting `kind` into a scheduled implementation, one site each; all but kCrash stay
// inside their buffers.
std::vector<tir::PrimFuncRef> plant_variants(const tir::PrimFunc& scheduled, PlantKind kind);

struct PlantedKernel {
  std::string kernel;
  PlantKind kind;
  tir::PrimFuncRef implementation;
  int site = 0;  // number of the site among those of this kind
};

// The first site that changes an output of the carved calls of `kernel` (its name, or the
// beginning of exactly one kernel's name) on the target, or that crashes there; a hang is taken on
// trust. UserError when there is no such kernel, when no site bites (it then names the kinds that
// do), and for a crash in a platform of this process. PlatformError (kCancelled) between two sites
// once `cancelled` says so.
PlantedKernel plant(const Suite& suite, Judge& judge, const std::string& kernel, PlantKind kind,
                    Sandbox& sandbox, const std::function<bool()>& cancelled = {});

}  // namespace tapml::topdown
