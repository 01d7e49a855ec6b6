// The units of a migration and their order.
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"
#include "topdown/reference_run/kernel_reference.h"

namespace tapml::topdown {

enum class MigrationOrder : uint8_t {
  kExecution,  // in the order of the kernels' first calls
  kCost,       // those that compute and move most first
  kRisk,       // those most likely to be wrong first (docs/migrate.md has the points)
};
const char* migration_order_name(MigrationOrder order);  // "execution", "cost", "risk"

// Kernels that move together.
struct KernelGroup {
  std::string name;
  // Names of kernels, beginnings of names, or patterns (topdown/suite/kernel_names.h).
  std::vector<std::string> globs;
};
// "NAME=GLOB,GLOB,..." or "GLOB", which is its own name. UserError.
KernelGroup parse_kernel_group(const std::string& text);

struct PlanOptions {
  MigrationOrder order = MigrationOrder::kExecution;
  // Kernels of one layer, or of one kind of layer if several layers share them, move together; else
  // each kernel alone.
  bool by_layer = false;
  std::vector<KernelGroup> groups;  // take precedence
  // Kernels are tested one by one, and move layer by layer (LayerMoves). Excludes the two above.
  bool layer_by_layer = false;
  // Units to test before each hybrid run; 0: all, with one run at the end. If that run is wrong,
  // parts of them are tried until those are found that make it wrong.
  int64_t hybrid_every = 1;
};

// Parses the name of an order and the granularities: "kernel", "layer" and groups as in
// parse_kernel_group(), or "layer-by-layer" alone, whose hybrid runs are its own. UserError.
PlanOptions parse_plan(const std::string& order, const std::vector<std::string>& granularity,
                       int64_t hybrid_every = 1);

struct MigrationUnit {
  std::string name;              // of the group, the layer or the kernel
  std::vector<int32_t> kernels;  // of the suite, in order
};

// The flops and bytes of `kernel`'s carved calls.
double kernel_cost(const Suite& suite, const KernelReference& reference, int32_t kernel);
// Points for what is hard to get right; `provider` is the target's (Implementation::provider).
int64_t kernel_risk(const Suite& suite, const KernelReference& reference, int32_t kernel,
                    const std::string& provider);

// Every kernel of the suite once. UserError for a group that matches none.
std::vector<MigrationUnit> plan_migration(const Suite& suite, const KernelReference& reference,
                                          const Executable& target, const PlanOptions& options);

}  // namespace tapml::topdown
