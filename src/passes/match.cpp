#include "passes/match.h"

#include <algorithm>
#include <cstdio>

#include "build/pattern.h"
#include "op/operator.h"
#include "passes/fuse_ops.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/outline_group.h"
#include "text/structural.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

struct NamedPattern {
  std::string name;
  const Function* function;
  size_t operators;
};

std::vector<NamedPattern> patterns_of(const Module& module) {
  std::vector<NamedPattern> patterns;
  for (const auto& [name, function] : module.functions) {
    if (!build::is_pattern(function.get())) continue;
    const Function* pattern = as_relax_function(function.get());
    build::check_pattern(*pattern, name);
    patterns.push_back({name, pattern, body_of(*pattern).blocks[0].bindings.size()});
  }
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const auto& a, const auto& b) { return a.operators > b.operators; });
  return patterns;
}

std::string policy_of(const Module& module, const std::vector<NamedPattern>& patterns) {
  uint64_t hash = 0;
  for (const NamedPattern& pattern : patterns) {
    hash = hash * 0x100000001b3u ^ text::structural_hash(*pattern.function);
  }
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(hash & 0xffffffffu));
  return fusion_policy_of(module) + "+patterns:" + digits;
}

class BlockMatcher {
 public:
  BlockMatcher(Module& module, const Block& block, const std::map<const VarNode*, int>& uses,
               int& groups)
      : module_(module),
        block_(block),
        outlined_(groups),
        matcher_(block, uses),
        taken_(block.bindings.size()) {}

  Block run(const std::vector<NamedPattern>& patterns) {
    std::map<size_t, std::vector<size_t>> groups;  // by last member
    for (const NamedPattern& pattern : patterns) {
      for (size_t last = block_.bindings.size(); last-- > 0;) {
        if (taken_[last]) continue;
        std::optional<build::Match> found = matcher_.match(*pattern.function, last);
        if (!found || !may_become_kernel(found->members)) continue;
        for (size_t member : found->members) taken_[member] = true;
        groups[last] = std::move(found->members);
      }
    }
    Block result{.dataflow = true, .bindings = {}};
    for (size_t i = 0; i < block_.bindings.size(); ++i) {
      if (auto group = groups.find(i); group != groups.end()) {
        result.bindings.push_back(outline_group(module_, block_, group->second, outlined_));
      } else if (!taken_[i]) {
        result.bindings.push_back(block_.bindings[i]);
      }
    }
    return result;
  }

 private:
  bool may_become_kernel(const std::vector<size_t>& members) const {
    std::vector<Expr> inputs = group_inputs(block_, members);
    if (inputs.size() + 1 > kFusionTensors) return false;
    if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) return false;
    for (size_t member : members) {
      if (taken_[member] || !is_proved(block_.bindings[member])) return false;
    }
    for (size_t i = members.front(); i < members.back(); ++i) {
      if (updates_argument(block_.bindings[i])) return false;
    }
    return stays_proved(members);
  }

  // The function of the group knows less than its caller: a variable that it gets as a number may
  // be negative there.
  bool stays_proved(const std::vector<size_t>& members) const {
    Module alone;
    int groups = 0;
    outline_group(alone, block_, members, groups);
    for (const auto& [name, function] : alone.functions) {
      for (const Block& block : body_of(*as_relax_function(function.get())).blocks) {
        if (!std::all_of(block.bindings.begin(), block.bindings.end(), is_proved)) return false;
      }
    }
    return true;
  }

  // Whether every shape that the call needs is known.
  static bool is_proved(const Binding& binding) {
    const auto* made = as_tensor(binding.var->annotation);
    if (!made || !made->shape || !made->dtype) return false;
    std::vector<op::OpenEquality> undecided;
    op::CallView view = op::view_call(*as<CallNode>(binding.value));
    view.strict = true;
    view.undecided = &undecided;
    view.info.deduce(view);
    return undecided.empty();
  }

  static bool updates_argument(const Binding& binding) {
    const std::string& name = called_operator(binding.value);
    if (name == "call_tir_inplace") return true;
    const op::OperatorInfo* info = op::called_operator_info(binding.value);
    return info && !info->inout.empty();
  }

  Module& module_;
  const Block& block_;
  int& outlined_;  // groups of the module so far
  build::PatternMatcher matcher_;
  std::vector<bool> taken_;
};

}  // namespace

Module match(const Module& module) {
  const std::vector<NamedPattern> patterns = patterns_of(module);
  if (patterns.empty()) return module;
  Module result = module;
  result.facts.fusion_policy = policy_of(module, patterns);
  for (const NamedPattern& pattern : patterns) result.functions.erase(pattern.name);
  int groups = 0;
  for (const auto& [name, source] : graph_functions(module)) {
    const auto uses = use_counts(source->body);
    result.functions[name] = with_body(*source, map_blocks(source->body, [&](const Block& block) {
      return block.dataflow ? BlockMatcher(result, block, uses, groups).run(patterns) : block;
    }));
  }
  return result;
}

}  // namespace tapml::passes
