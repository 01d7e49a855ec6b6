#include "topdown/migrate/migration_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "analysis/cost.h"
#include "arith/analyzer.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "relax/visit.h"
#include "topdown/suite/kernel_names.h"

namespace tapml::topdown {

namespace {

constexpr const char* kLayerByLayer = "layer-by-layer";

const std::string& name_of(const Suite& suite, int32_t kernel) {
  return suite.kernels[static_cast<size_t>(kernel)].name;
}

// "model.layers.3.self_attn.q_proj" is part of "model.layers.*.self_attn", whose kernels all layers
// share; "model.norm" and "lm_head" are layers of their own.
std::string layer_of(const std::string& path) {
  std::string layer;
  size_t begin = 0;
  bool numbered = false;
  while (begin <= path.size()) {
    size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    if (!layer.empty()) layer += ".";
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    layer += number ? "*" : part;
    if (numbered) break;
    numbered = number;
  }
  return layer;
}

std::string no_kernel_text(const Suite& suite) {
  const std::string known = join(suite.kernels, &SuiteKernel::name);
  return "part of " + known;
}

// Position of every kernel's first call.
std::vector<size_t> first_calls(const Suite& suite) {
  std::vector<size_t> first(suite.kernels.size(), std::numeric_limits<size_t>::max());
  for (size_t i = suite.calls.size(); i-- > 0;) {
    first[static_cast<size_t>(suite.calls[i].kernel)] = i;
  }
  return first;
}

std::string unit_of(const Suite& suite, int32_t kernel, size_t first_call,
                    const PlanOptions& options) {
  const std::string& name = name_of(suite, kernel);
  for (const KernelGroup& group : options.groups) {
    if (std::ranges::any_of(group.globs,
                            [&](const std::string& glob) { return means_kernel(glob, name); })) {
      return group.name;
    }
  }
  if (!options.by_layer || first_call >= suite.calls.size()) return name;
  const auto& layers = suite.calls[first_call].origin.layers;
  return layers.empty() ? name : layer_of(*layers.begin());
}

}  // namespace

const char* migration_order_name(MigrationOrder order) {
  switch (order) {
    case MigrationOrder::kExecution:
      return "execution";
    case MigrationOrder::kCost:
      return "cost";
    case MigrationOrder::kRisk:
      return "risk";
  }
  return "execution";
}

KernelGroup parse_kernel_group(const std::string& text) {
  const size_t equals = text.find('=');
  KernelGroup group;
  group.name = text.substr(0, equals);
  const std::string globs = equals == std::string::npos ? text : text.substr(equals + 1);
  for (size_t begin = 0; begin <= globs.size();) {
    const size_t end = std::min(globs.find(',', begin), globs.size());
    group.globs.push_back(globs.substr(begin, end - begin));
    begin = end + 1;
  }
  if (group.name.empty() || std::ranges::find(group.globs, "") != group.globs.end()) {
    throw_user("malformed group of kernels", "--granularity",
               "kernel, layer, layer-by-layer, NAME=GLOB,GLOB,... or a GLOB of kernel names",
               "\"" + text + "\"");
  }
  return group;
}

PlanOptions parse_plan(const std::string& order, const std::vector<std::string>& granularity,
                       int64_t hybrid_every) {
  PlanOptions plan;
  plan.hybrid_every = hybrid_every;
  std::string known;
  bool found = false;
  for (auto one : {MigrationOrder::kExecution, MigrationOrder::kCost, MigrationOrder::kRisk}) {
    known += (known.empty() ? "" : ", ") + std::string(migration_order_name(one));
    if (order != migration_order_name(one)) continue;
    plan.order = one;
    found = true;
  }
  if (!found) throw_user("unknown order", "order", "one of " + known, order);
  for (const std::string& text : granularity) {
    if (text == "layer") {
      plan.by_layer = true;
    } else if (text == kLayerByLayer) {
      plan.layer_by_layer = true;
    } else if (text != "kernel") {
      plan.groups.push_back(parse_kernel_group(text));
    }
  }
  if (plan.layer_by_layer && granularity.size() > 1) {
    throw_user("layer-by-layer excludes other groups",
               "--granularity " + std::string(kLayerByLayer), "no other --granularity",
               std::to_string(granularity.size()) + " granularities");
  }
  if (hybrid_every < 0) {
    throw_user("the number of kernels between hybrid runs is negative", "--hybrid-every",
               "1 or more, or 0 for one run at the end", std::to_string(hybrid_every));
  }
  if (plan.layer_by_layer && hybrid_every != 1) {
    throw_user("layer-by-layer has a hybrid run for each layer", "--hybrid-every",
               "1, or another granularity", std::to_string(hybrid_every));
  }
  return plan;
}

double kernel_cost(const Suite& suite, const KernelReference& reference, int32_t kernel) {
  const tir::PrimFunc& program =
      passes::kernel_implementation(reference.module(), name_of(suite, kernel));
  const analysis::Cost cost = analysis::cost_of(program);
  const PrimExpr work = cost.flops + cost.bytes;
  double sum = 0;
  for (const SuiteCall& call : suite.calls) {
    if (call.kernel != kernel) continue;
    VarMap scalars;
    for (size_t i = 0; i < program.scalars.size() && i < call.scalars.size(); ++i) {
      scalars[program.scalars[i].get()] = call.scalars[i];
    }
    const PrimExpr value = arith::Analyzer().simplify(substitute(work, scalars));
    if (value.is_int()) sum += static_cast<double>(value->int_value);
  }
  return sum;
}

int64_t kernel_risk(const Suite& suite, const KernelReference& reference, int32_t kernel,
                    const std::string& provider) {
  const SuiteKernel& info = suite.kernels[static_cast<size_t>(kernel)];
  const relax::Function& spec = passes::kernel_spec(reference.module(), info.name);
  const tir::PrimFunc& program = passes::kernel_implementation(reference.module(), info.name);
  int64_t points = 0;
  // Fused kernels have more that can go wrong than single operators.
  relax::visit_bindings(spec.body, [&](const relax::Binding&, bool) { ++points; });
  // Hand-written, or compiled by another project.
  if (provider.starts_with("user:")) points += 8;
  if (provider.starts_with("library:")) points += 4;
  // A wrong call leaves the state wrong for all later ones.
  if (std::ranges::find(info.modes, AccessMode::kInOut) != info.modes.end()) points += 3;
  // Extents that are read from memory: pages, routing.
  if (!analysis::cost_of(program).exact) points += 3;
  // Sizes that are unknown before the call: tails.
  if (!program.scalars.empty()) points += 1;
  return points;
}

std::vector<MigrationUnit> plan_migration(const Suite& suite, const KernelReference& reference,
                                          const Executable& target, const PlanOptions& options) {
  const std::vector<size_t> first = first_calls(suite);
  const size_t count = suite.kernels.size();
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> cost(count, 0);
  std::vector<int64_t> risk(count, 0);
  if (options.order != MigrationOrder::kExecution) {
    for (size_t k = 0; k < count; ++k) {
      const auto kernel = static_cast<int32_t>(k);
      cost[k] = kernel_cost(suite, reference, kernel);
      if (options.order != MigrationOrder::kRisk) continue;
      const Implementation* implementation =
          target.find_implementation(target.find_kernel(suite.kernels[k].name));
      risk[k] =
          kernel_risk(suite, reference, kernel, implementation ? implementation->provider : "");
    }
  }
  std::ranges::sort(order, [&](int32_t x, int32_t y) {
    const auto a = static_cast<size_t>(x), b = static_cast<size_t>(y);
    if (risk[a] != risk[b]) return risk[a] > risk[b];
    if (cost[a] != cost[b]) return cost[a] > cost[b];
    return first[a] != first[b] ? first[a] < first[b] : a < b;
  });
  // A unit takes the position of its first kernel.
  std::vector<MigrationUnit> units;
  for (int32_t kernel : order) {
    std::string name = unit_of(suite, kernel, first[static_cast<size_t>(kernel)], options);
    auto unit = std::ranges::find(units, name, &MigrationUnit::name);
    if (unit == units.end()) {
      units.push_back({std::move(name), {}});
      unit = units.end() - 1;
    }
    unit->kernels.push_back(kernel);
  }
  if (options.order == MigrationOrder::kCost) {
    // Together they may cost more than a unit with a more expensive kernel.
    std::ranges::stable_sort(units, std::greater<>(), [&](const MigrationUnit& unit) {
      double sum = 0;
      for (int32_t kernel : unit.kernels) sum += cost[static_cast<size_t>(kernel)];
      return sum;
    });
  }
  for (const KernelGroup& group : options.groups) {
    if (std::ranges::find(units, group.name, &MigrationUnit::name) == units.end()) {
      throw_user("the group matches no kernels, or only kernels of earlier groups",
                 "--granularity " + group.name, no_kernel_text(suite), "",
                 kernel_suggestion(group.globs[0], kernel_names(suite)));
    }
  }
  return units;
}

}  // namespace tapml::topdown
