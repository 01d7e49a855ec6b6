// What a migration tries together, and in which order.
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"
#include "topdown/reference_run/kernel_reference.h"

namespace tapml::topdown {

enum class MigrationOrder : uint8_t {
  kExecution,  // as the kernels are first called
  kCost,       // what computes and moves most first
  kRisk,       // what is most likely wrong first (docs/migrate.md has the points)
};
const char* migration_order_name(MigrationOrder order);  // "execution", "cost", "risk"

// Kernels that move together.
struct KernelGroup {
  std::string name;
  // Names of kernels, how they begin, or patterns (topdown/suite/kernel_names.h).
  std::vector<std::string> globs;
};
// "NAME=GLOB,GLOB,..." or "GLOB", which is its own name. UserError.
KernelGroup parse_kernel_group(const std::string& text);

struct PlanOptions {
  MigrationOrder order = MigrationOrder::kExecution;
  // Kernels of one layer of the model, or one kind of layer where several share them, move
  // together; else each kernel alone.
  bool by_layer = false;
  std::vector<KernelGroup> groups;  // take their kernels first
  // Kernels are tested one by one, and move layer by layer where they are called (LayerMoves).
  // Neither of the two above then.
  bool layer_by_layer = false;
};

// From an order's name, and what moves together: "kernel", "layer" and groups as
// parse_kernel_group() takes them, or "layer-by-layer" alone. UserError.
PlanOptions parse_plan(const std::string& order, const std::vector<std::string>& granularity);

struct MigrationUnit {
  std::string name;              // of the group, the layer or the kernel
  std::vector<int32_t> kernels;  // of the suite, in order
};

// What `kernel`'s carved calls compute and move, in flops and bytes.
double kernel_cost(const Suite& suite, const KernelReference& reference, int32_t kernel);
// Points for what is hard to get right; `provider` is the target's (Implementation::provider).
int64_t kernel_risk(const Suite& suite, const KernelReference& reference, int32_t kernel,
                    const std::string& provider);

// Every kernel of the suite once. UserError for a group that matches none.
std::vector<MigrationUnit> plan_migration(const Suite& suite, const KernelReference& reference,
                                          const Executable& target, const PlanOptions& options);

}  // namespace tapml::topdown
