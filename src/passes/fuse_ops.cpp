#include "passes/fuse_ops.h"

#include <algorithm>
#include <set>

#include "analysis/pattern_kind.h"
#include "arith/analyzer.h"
#include "passes/kernel.h"
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
      result.bindings.push_back(group.members.size() == 1 ? block_.bindings[i] : outline(group));
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
    return merged.members.size() <= kFusionMembers && inputs(merged).size() + 1 <= kFusionTensors &&
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

  // Distinct tensors that come from outside the group, in order of first use.
  std::vector<Expr> inputs(const Group& group) const {
    std::set<const VarNode*> own, seen;
    for (size_t member : group.members) own.insert(block_.bindings[member].var.get());
    std::vector<Expr> result;
    for (size_t member : group.members) {
      for (const Expr& arg : args(member)) {
        const auto* var = as<VarNode>(arg);
        if (var && (own.contains(var) || !seen.insert(var).second)) continue;
        result.push_back(arg);
      }
    }
    return result;
  }

  // Calls that update memory in place must not come between the group's members: the group runs
  // where its last member stood, and what it reads must still be what it was.
  bool stays_in_order(const Group& group) const {
    for (size_t i = group.members.front(); i < group.members.back(); ++i) {
      if (called_operator(block_.bindings[i].value) == "call_tir_inplace") return false;
    }
    return true;
  }

  Binding outline(const Group& group) {
    // The fused function over its own variables and symbols.
    VarMap to_own;
    Dims caller_symbols;
    std::vector<Var> symbols, derived;
    auto note_symbols = [&](const Annotation& annotation) { collect_vars(annotation, symbols); };
    ExprMap values;
    std::vector<Expr> arguments = inputs(group);
    for (const Expr& arg : arguments) note_symbols(annotation_of(arg));
    for (size_t member : group.members) {
      note_symbols(block_.bindings[member].var->annotation);
      for (const PrimExpr& e : call_tir_symbols(*as<CallNode>(block_.bindings[member].value))) {
        tapml::collect_vars(e, symbols);
      }
    }
    for (const Var& var : symbols) to_own[var.get()] = make_var(var->name, var.dtype());
    std::vector<Variable> params;
    for (size_t i = 0; i < arguments.size(); ++i) {
      Annotation annotation = substitute(annotation_of(arguments[i]), to_own);
      params.push_back(make_variable("x" + std::to_string(i), annotation));
      if (const auto* var = as<VarNode>(arguments[i])) values[var] = params.back();
      for (const PrimExpr& dim : *as_tensor(annotation)->shape) {
        if (dim.is_var()) derived.push_back(dim);
      }
    }
    Dims own_symbols;
    for (const Var& var : symbols) {
      const PrimExpr& own = to_own.at(var.get());
      bool known =
          std::any_of(derived.begin(), derived.end(), [&](const Var& d) { return d.same_as(own); });
      if (known) continue;
      own_symbols.push_back(own);
      caller_symbols.push_back(var);
    }
    if (!own_symbols.empty()) {
      params.push_back(make_variable("s", shape_annotation(own_symbols)));
      arguments.push_back(make_shape(caller_symbols));
    }
    Binding result = block_.bindings[group.members.back()];
    Block body{.dataflow = true, .bindings = {}};
    size_t constants = 0;
    for (size_t member : group.members) {
      const Binding& binding = block_.bindings[member];
      // Constants are parameters of the fused function, too: they have no variable to go by.
      Expr value = binding.value;
      const auto& call = *as<CallNode>(value);
      std::vector<Expr> call_args;
      for (const Expr& arg : call_tir_args(call)) {
        if (arg->kind != relax::ExprKind::kConstant) {
          call_args.push_back(arg);
          continue;
        }
        while (as<VarNode>(arguments[constants])) ++constants;
        call_args.push_back(params[constants++]);
      }
      std::vector<Expr> parts = call.args;
      parts[1] = make_tuple(call_args);
      value = make_call(call.callee, parts, call.attrs, call.annotations);
      value = substitute_symbols(substitute(value, values), to_own);
      Variable var = make_variable("v" + std::to_string(body.bindings.size()),
                                   substitute(binding.var->annotation, to_own),
                                   member != group.members.back());
      values[binding.var.get()] = var;
      body.bindings.push_back({var, value, nullptr, {}});
      result.origin = merge_origins(result.origin, binding.origin);
    }
    Expr last = body.bindings.back().var;
    FunctionRef fused =
        make_function(params, make_seq({body}, last), annotation_of(last), {{kFusedAttr, true}});
    std::string name = module_.unique_name("fused");
    module_.functions[name] = fused;
    result.value = make_call(make_global(name), arguments);
    return result;
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
    std::vector<Block> blocks;
    for (const Block& block : body_of(*source).blocks) {
      blocks.push_back(block.dataflow ? BlockFuser(result, block, uses).run() : block);
    }
    auto copy = std::make_shared<Function>(*source);
    copy->body = make_seq(std::move(blocks), body_of(*source).result);
    result.functions[name] = copy;
  }
  return result;
}

}  // namespace tapml::passes
