#include "passes/fuse_ops.h"

#include <algorithm>
#include <set>

#include "analysis/pattern_kind.h"
#include "arith/analyzer.h"
#include "passes/kernel.h"
#include "passes/outline_group.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone
using analysis::PatternKind;

namespace {

constexpr const char* kPatternAttr = "pattern_kind";

PatternKind kind_of(const Module& module, const std::string& kernel) {
  if (!is_kernel(module.find(kernel))) return PatternKind::kOpaque;
  const tir::PrimFunc& func = kernel_implementation(module, kernel);
  const auto* name = find_attr<std::string>(func.attrs, kPatternAttr);
  for (PatternKind kind :
       {PatternKind::kElementWise, PatternKind::kBroadcast, PatternKind::kInjective,
        PatternKind::kCommReduce, PatternKind::kOutEWiseFusable}) {
    if (name && *name == analysis::pattern_kind_name(kind)) return kind;
  }
  return PatternKind::kOpaque;
}

// Members of one group: a kernel stays far below what the text format nests.
constexpr size_t kFusionMembers = 100;

bool is_injective(PatternKind kind) { return kind <= PatternKind::kInjective; }

bool same_shape(const Annotation& a, const Annotation& b) {
  const auto *x = as_tensor(a), *y = as_tensor(b);
  if (!x || !y || !x->shape || !y->shape || x->shape->size() != y->shape->size()) return false;
  arith::Analyzer analyzer;
  for (size_t i = 0; i < x->shape->size(); ++i) {
    if (!analyzer.prove_equal((*x->shape)[i], (*y->shape)[i])) return false;
  }
  return true;
}

// Groups of bindings of one dataflow block, found front to back.
class BlockFuser {
 public:
  BlockFuser(Module& module, const Block& block, const std::map<const VarNode*, int>& uses)
      : module_(module), block_(block), uses_(uses) {}

  Block run() {
    for (size_t i = 0; i < block_.bindings.size(); ++i) {
      producer_[block_.bindings[i].var.get()] = i;
      group_of_.push_back(i);
      groups_.push_back({{i}, kind(i)});
      if (groups_[i].kind != PatternKind::kOpaque) join_producers(i);
    }
    Block result{.dataflow = true, .bindings = {}};
    for (size_t i = 0; i < block_.bindings.size(); ++i) {
      const Group& group = groups_[group_of_[i]];
      if (group.members.back() != i) continue;  // part of a later binding's group
      result.bindings.push_back(group.members.size() == 1
                                    ? block_.bindings[i]
                                    : outline_group(module_, block_, group.members));
    }
    return result;
  }

 private:
  struct Group {
    std::vector<size_t> members;  // in order; the last one's result is the group's
    PatternKind kind;
  };

  PatternKind kind(size_t i) const {
    const Binding& binding = block_.bindings[i];
    if (binding.match_cast || called_operator(binding.value) != "call_tir") {
      return PatternKind::kOpaque;
    }
    const auto& call = *as<CallNode>(binding.value);
    if (call.annotations.size() != 1) return PatternKind::kOpaque;
    return kind_of(module_, call_tir_callee(call));
  }

  const std::vector<Expr>& args(size_t i) const {
    return call_tir_args(*as<CallNode>(block_.bindings[i].value));
  }

  void join_producers(size_t consumer) {
    for (const Expr& arg : args(consumer)) {
      const auto* var = as<VarNode>(arg);
      auto it = var ? producer_.find(var) : producer_.end();
      if (it == producer_.end() || !var->dataflow || uses_.at(var) != 1) continue;
      size_t from = group_of_[it->second], to = group_of_[consumer];
      if (from != to && may_join(groups_[from], groups_[to], var, consumer)) join(from, to);
    }
  }

  bool may_join(const Group& producer, const Group& consumer, const VarNode* value,
                size_t reader) const {
    if (producer.kind == PatternKind::kOpaque || consumer.kind == PatternKind::kOpaque) {
      return false;
    }
    if (producer.members.back() != producer_.at(value)) return false;
    if (is_injective(producer.kind)) {
      if (!is_injective(consumer.kind) && consumer.kind != PatternKind::kCommReduce) return false;
    } else {
      // Epilogue: the reader works at the reduction's own indices.
      PatternKind own = kind(reader);
      bool pointwise = own == PatternKind::kElementWise || own == PatternKind::kBroadcast;
      if (!pointwise || !is_injective(consumer.kind) ||
          !same_shape(value->annotation, block_.bindings[reader].var->annotation)) {
        return false;
      }
    }
    Group merged = merge(producer, consumer);
    return merged.members.size() <= kFusionMembers &&
           group_inputs(block_, merged.members).size() + 1 <= kFusionTensors &&
           stays_in_order(merged);
  }

  static Group merge(const Group& a, const Group& b) {
    Group merged{a.members, std::max(a.kind, b.kind)};
    merged.members.insert(merged.members.end(), b.members.begin(), b.members.end());
    std::sort(merged.members.begin(), merged.members.end());
    return merged;
  }

  void join(size_t from, size_t to) {
    groups_[to] = merge(groups_[from], groups_[to]);
    for (size_t member : groups_[to].members) group_of_[member] = to;
  }

  // Calls that update memory in place must not come between the group's members: the group runs
  // where its last member stood, and what it reads must still be what it was.
  bool stays_in_order(const Group& group) const {
    for (size_t i = group.members.front(); i < group.members.back(); ++i) {
      if (called_operator(block_.bindings[i].value) == "call_tir_inplace") return false;
    }
    return true;
  }

  Module& module_;
  const Block& block_;
  const std::map<const VarNode*, int>& uses_;
  std::map<const VarNode*, size_t> producer_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;
};

}  // namespace

Module annotate_patterns(const Module& module) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    const tir::PrimFunc* func = tir::as_prim_func(function.get());
    if (!func || !func->attrs.contains(kSpecAttr)) continue;
    auto copy = std::make_shared<tir::PrimFunc>(*func);
    copy->attrs[kPatternAttr] =
        std::string(analysis::pattern_kind_name(analysis::pattern_kind(*func)));
    result.functions[name] = copy;
  }
  return result;
}

Module fuse_ops(const Module& module) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source) || attr_or(source->attrs, kFusedAttr, false)) continue;
    auto uses = use_counts(source->body);
    auto copy = std::make_shared<Function>(*source);
    copy->body = map_blocks(source->body, [&](const Block& block) {
      return block.dataflow ? BlockFuser(result, block, uses).run() : block;
    });
    result.functions[name] = copy;
  }
  return result;
}

}  // namespace tapml::passes
