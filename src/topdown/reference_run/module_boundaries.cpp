#include "topdown/reference_run/module_boundaries.h"

#include <algorithm>

#include "relax/visit.h"

namespace tapml::topdown {

namespace {

using relax::Binding;
using relax::VarNode;

// Whether `path` is `module` or inside it.
bool is_within(const std::string& path, const std::string& module) {
  return path == module || path.starts_with(module + ".");
}

bool is_float_tensor(const VarNode& var) {
  const relax::TensorAnnotation* tensor = relax::as_tensor(var.annotation);
  return tensor && tensor->dtype && is_float(*tensor->dtype);
}

// A binding of one module.
struct Step {
  const Binding* binding;
  std::string path;
};

std::vector<Step> steps_of(const relax::Function& function) {
  std::vector<Step> steps;
  relax::visit_bindings(function.body, [&](const Binding& binding, bool) {
    const std::set<std::string>& layers = binding.origin.layers;
    if (layers.size() == 1) steps.push_back({&binding, *layers.begin()});
  });
  return steps;
}

// The constants among the arguments of a call.
std::vector<HostTensor> constants_of(const relax::CallNode& call, size_t first) {
  std::vector<HostTensor> found;
  for (size_t i = first; i < call.args.size(); ++i) {
    const auto* constant = relax::as<relax::ConstantNode>(call.args[i]);
    if (constant) found.push_back(constant->value);
  }
  return found;
}

// `choices`: the values of variables that choose one of two tables.
void find_rope(const Binding& binding, std::map<const VarNode*, std::vector<HostTensor>>& choices,
               ModuleBoundaries& boundaries) {
  const std::string_view op = relax::called_operator(binding.value);
  const auto* call = relax::as<relax::CallNode>(binding.value);
  if (op == "where") choices[binding.var.get()] = constants_of(*call, 1);
  if (op != "rope") return;
  std::vector<HostTensor> frequencies = constants_of(*call, 2);
  if (frequencies.empty()) {
    const auto chosen = choices.find(relax::as<VarNode>(call->args.at(2)));
    if (chosen == choices.end() || chosen->second.size() != 2) return;
    frequencies = chosen->second;
  }
  boundaries.tables.insert(boundaries.tables.end(), frequencies.begin(), frequencies.end());
  if (boundaries.rotated) return;
  boundaries.rotated = binding.var.get();
  boundaries.frequencies = std::move(frequencies);
}

void add(ModuleBoundaries& boundaries, const VarNode* var, const ModuleBoundary& boundary) {
  std::vector<ModuleBoundary>& known = boundaries.of[var];
  const bool is_known = std::ranges::any_of(known, [&](const ModuleBoundary& one) {
    return one.module == boundary.module && one.output == boundary.output;
  });
  if (!is_known) known.push_back(boundary);
}

}  // namespace

ModuleBoundaries module_boundaries(const relax::Function& function) {
  ModuleBoundaries boundaries;
  const std::vector<Step> steps = steps_of(function);
  std::map<std::string, const VarNode*> last;  // by module
  std::map<const VarNode*, std::string> made_in;
  std::map<const VarNode*, std::vector<HostTensor>> choices;
  for (const Step& step : steps) {
    find_rope(*step.binding, choices, boundaries);
    const VarNode* var = step.binding->var.get();
    made_in[var] = step.path;
    for (size_t end = 0; end != std::string::npos;) {
      end = step.path.find('.', end + 1);
      const std::string module = step.path.substr(0, end);
      const auto [entry, is_new] = last.try_emplace(module, nullptr);
      if (is_new) boundaries.modules.push_back(module);
      if (is_float_tensor(*var)) entry->second = var;
    }
  }
  // The innermost module first: it says most about a value.
  for (const Step& step : steps) {
    const VarNode* var = step.binding->var.get();
    for (std::string module = step.path; !module.empty();) {
      if (last[module] == var) add(boundaries, var, {module, true});
      const size_t dot = module.rfind('.');
      module = dot == std::string::npos ? "" : module.substr(0, dot);
    }
  }
  // A module that reads several (a norm with a gate) was given the first one as its first argument,
  // which is what the published run records.
  std::map<std::string, const VarNode*> first;  // by module
  for (const Step& step : steps) {
    const auto* call = relax::as<relax::CallNode>(step.binding->value);
    if (!call) continue;
    for (const relax::Expr& arg : call->args) {
      const auto* var = relax::as<VarNode>(arg);
      const auto from = made_in.find(var);
      if (!var || from == made_in.end() || !is_float_tensor(*var)) continue;
      if (is_within(from->second, step.path)) continue;
      const auto [entry, is_new] = first.try_emplace(step.path, var);
      if (entry->second == var) add(boundaries, var, {step.path, false});
    }
  }
  return boundaries;
}

}  // namespace tapml::topdown
