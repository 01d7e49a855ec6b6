#include "passes/fuse_ops.h"

#include <algorithm>

#include "analysis/pattern_kind.h"
#include "passes/fusion_cost.h"
#include "passes/fusion_graph.h"
#include "passes/graph_functions.h"
#include "passes/legalize.h"
#include "passes/outline_group.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone
using analysis::PatternKind;

namespace {

// The most members of a group: keeps a kernel well below the nesting limit of the text format.
constexpr size_t kFusionMembers = 100;

// Groups the bindings of one dataflow block. Visits readers front to back; each draws in the
// producers that it post-dominates, with everything on the paths between.
class BlockFuser {
 public:
  BlockFuser(Module& module, const Block& block, FusionGraph::TraitsOfKernels& traits, int& groups)
      : module_(module), block_(block), graph_(module, block, traits), outlined_(groups) {}

  Block run() {
    const size_t size = graph_.size();
    mark_.resize(size);
    updates_before_.resize(size + 1);
    drawn_.resize(size);
    for (size_t i = 0; i < size; ++i) {
      group_of_.push_back(i);
      groups_.push_back({{i}, {}});
      updates_before_[i + 1] = updates_before_[i] + (graph_[i].updates ? 1 : 0);
      if (!is_member(i)) continue;
      groups_[i].time = fused_time(graph_, {i}).value_or(Samples{});
      if (size_t reader = reader_of(i); reader != kNoNode) drawn_[reader].push_back(i);
    }
    for (size_t i = 0; i < size; ++i) {
      for (size_t producer : candidates(i)) join(producer, i);
    }
    return outlined();
  }

 private:
  struct Group {
    std::vector<size_t> members;  // in order; the last one's result is the group's
    Samples time{};
  };

  // Views join only between two members.
  bool is_member(size_t i) const { return graph_[i].traits && !graph_[i].view; }

  // The first member that post-dominates node i, views aside.
  size_t reader_of(size_t i) const {
    size_t reader = graph_[i].post_dominator;
    while (reader != kNoNode && graph_[reader].view) reader = graph_[reader].post_dominator;
    return reader != kNoNode && is_member(reader) ? reader : kNoNode;
  }

  // Candidates for member i to draw in: its operands in order, then their predecessors, nearest
  // first.
  std::vector<size_t> candidates(size_t i) const {
    std::vector<size_t> result;
    if (drawn_[i].empty()) return result;
    for (const FusionNode::Input& input : graph_[i].inputs) {
      size_t producer = input.producer;
      while (producer != kNoNode && graph_[producer].view) {
        producer = graph_[producer].inputs[0].producer;
      }
      if (producer == kNoNode || !is_member(producer) || reader_of(producer) != i) continue;
      if (std::find(result.begin(), result.end(), producer) == result.end()) {
        result.push_back(producer);
      }
    }
    const size_t operands = result.size();
    for (size_t d = drawn_[i].size(); d-- > 0;) {
      auto end = result.begin() + static_cast<std::ptrdiff_t>(operands);
      if (std::find(result.begin(), end, drawn_[i][d]) == end) result.push_back(drawn_[i][d]);
    }
    return result;
  }

  void join(size_t producer, size_t reader) {
    if (group_of_[producer] == group_of_[reader]) return;
    std::vector<size_t> members, groups;
    if (!collect(producer, reader, members, groups)) return;
    std::sort(members.begin(), members.end());
    if (!is_closed(members) || !is_legal(members)) return;
    std::optional<Samples> time = fused_time(graph_, members);
    if (!time) return;
    for (size_t s = 0; s < time->size(); ++s) {
      double apart = 0;
      for (size_t group : groups) apart += groups_[group].time[s];
      if ((*time)[s] > apart) return;
    }
    const size_t to = group_of_[reader];
    for (size_t member : members) group_of_[member] = to;
    groups_[to] = {std::move(members), *time};
  }

  // Everything on a path from `producer` to `reader`, with its groups. False where part of it
  // cannot be in a kernel.
  bool collect(size_t producer, size_t reader, std::vector<size_t>& members,
               std::vector<size_t>& groups) {
    ++stamp_;
    std::vector<size_t> pending = {producer};
    mark_[producer] = stamp_;
    int reductions = 0;
    auto add_group = [&](size_t i) {
      const size_t group = group_of_[i];
      if (std::find(groups.begin(), groups.end(), group) != groups.end()) return true;
      groups.push_back(group);
      for (size_t member : groups_[group].members) {
        members.push_back(member);
        reductions += graph_[member].reduces() ? 1 : 0;
      }
      return members.size() <= kFusionMembers && reductions <= 1;
    };
    while (!pending.empty()) {
      const size_t i = pending.back();
      pending.pop_back();
      if (!graph_[i].traits || !add_group(i)) return false;
      if (i == reader) continue;
      for (size_t consumer : graph_[i].consumers) {
        if (mark_[consumer] == stamp_) continue;
        mark_[consumer] = stamp_;
        pending.push_back(consumer);
      }
      if (pending.size() > kFusionMembers) return false;
    }
    return true;
  }

  // Requires one result, no more than the limit of tensors, and nothing in between that may not
  // move.
  bool is_closed(const std::vector<size_t>& members) {
    ++stamp_;
    for (size_t member : members) mark_[member] = stamp_;
    if (updates_before_[members.back()] != updates_before_[members.front()]) return false;
    std::vector<const VarNode*> seen;
    int tensors = 1;
    for (size_t member : members) {
      const FusionNode& node = graph_[member];
      if (member != members.back()) {
        if (node.escapes) return false;
        for (size_t consumer : node.consumers) {
          if (mark_[consumer] != stamp_) return false;
        }
      }
      for (const FusionNode::Input& input : node.inputs) {
        const bool inside = input.producer != kNoNode && mark_[input.producer] == stamp_;
        if (inside) continue;
        if (node.view) return false;
        if (input.var && std::find(seen.begin(), seen.end(), input.var) != seen.end()) continue;
        if (input.var) seen.push_back(input.var);
        if (++tensors > kFusionTensors) return false;
      }
    }
    return !graph_[members.back()].view;
  }

  // Requires that a schedule can make one nest of it: before a product only what expands its
  // operands, since anything else would be recomputed for every use; after a reduction only what
  // works at the reduction's indices. Marks members.
  bool is_legal(const std::vector<size_t>& members) const {
    auto found = std::find_if(members.begin(), members.end(),
                              [&](size_t member) { return graph_[member].reduces(); });
    if (found == members.end()) return true;
    const size_t reduction = *found;
    std::vector<size_t> downstream = {reduction};
    for (auto it = found + 1; it != members.end(); ++it) {
      const FusionNode& node = graph_[*it];
      bool reads = false;
      for (const FusionNode::Input& input : node.inputs) {
        if (std::find(downstream.begin(), downstream.end(), input.producer) == downstream.end())
          continue;
        reads = true;
        if (node.view || node.kind() > PatternKind::kBroadcast ||
            !graph_.same_shape(input.producer, *it)) {
          return false;
        }
      }
      if (reads) downstream.push_back(*it);
    }
    if (graph_[reduction].kind() != PatternKind::kOutEWiseFusable) return true;
    const auto& operands = graph_[reduction].inputs;
    return std::none_of(operands.begin(), operands.end(), [&](const FusionNode::Input& input) {
      return is_inside(input) && !expands_what_is_outside(input.producer);
    });
  }

  bool is_inside(const FusionNode::Input& input) const {
    return input.producer != kNoNode && mark_[input.producer] == stamp_;
  }

  bool expands_what_is_outside(size_t i) const {
    const auto& operands = graph_[i].inputs;
    return graph_[i].expands &&
           std::none_of(operands.begin(), operands.end(),
                        [&](const FusionNode::Input& input) { return is_inside(input); });
  }

  Block outlined() {
    Block kernels = block_;  // views inside groups become kernels
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (!graph_[i].view || groups_[group_of_[i]].members.size() == 1) continue;
      Binding& view = kernels.bindings[i];
      view.value = outline_operator(module_, view);
    }
    Block result{.dataflow = true, .bindings = {}};
    for (size_t i = 0; i < graph_.size(); ++i) {
      const std::vector<size_t>& members = groups_[group_of_[i]].members;
      if (members.back() != i) continue;  // part of a later binding's group
      result.bindings.push_back(members.size() == 1
                                    ? block_.bindings[i]
                                    : outline_group(module_, kernels, members, outlined_));
    }
    return result;
  }

  Module& module_;
  const Block& block_;
  FusionGraph graph_;
  int& outlined_;  // groups of the module so far
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;
  std::vector<std::vector<size_t>> drawn_;  // by reader: the nodes for which reader_of() returns it
  std::vector<int> updates_before_;
  std::vector<uint32_t> mark_;  // nodes of walk or group number stamp_
  uint32_t stamp_ = 0;
};

}  // namespace

std::string fusion_policy_of(const Module& module) {
  return module.facts.fusion_policy.empty() ? kDefaultFusionPolicy : module.facts.fusion_policy;
}

namespace {

// Annotates the kernels of `module` that `known` does not have.
void annotate_new_patterns(Module& module, const Module& known) {
  for (auto& [name, function] : module.functions) {
    const tir::PrimFunc* func = tir::as_prim_func(function.get());
    if (!func || func->facts.spec.empty() || known.functions.contains(name)) continue;
    auto copy = std::make_shared<tir::PrimFunc>(*func);
    copy->facts.pattern_kind = analysis::pattern_kind_name(analysis::pattern_kind(*func));
    function = std::move(copy);
  }
}

}  // namespace

Module annotate_patterns(const Module& module) {
  Module result = module;
  annotate_new_patterns(result, {});
  return result;
}

Module fuse_ops(const Module& module) {
  Module result = module;
  FusionGraph::TraitsOfKernels traits;
  int groups = 0;
  for (const auto& [name, source] : graph_functions(module)) {
    if (is_fused(*source)) continue;
    Expr body = map_blocks(source->body, [&](const Block& block) {
      return block.dataflow ? BlockFuser(result, block, traits, groups).run() : block;
    });
    result.functions[name] = with_body(*source, std::move(body));
  }
  annotate_new_patterns(result, module);  // those of views
  return result;
}

}  // namespace tapml::passes
