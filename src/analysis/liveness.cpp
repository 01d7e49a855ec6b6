#include "analysis/liveness.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "relax/visit.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// The allocations that a variable may be, field by field for a tuple that is built in this
// function.
struct Alias {
  std::vector<int32_t> allocations;  // ascending
  bool whole = true;
  std::vector<Alias> fields;
};

void merge(std::vector<int32_t>& into, const std::vector<int32_t>& more) {
  if (more.empty()) return;
  std::vector<int32_t> all;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(all));
  into = std::move(all);
}

void gather(const Alias& alias, std::vector<int32_t>& into) {
  into.insert(into.end(), alias.allocations.begin(), alias.allocations.end());
  for (const Alias& field : alias.fields) gather(field, into);
}

void sort_unique(std::vector<int32_t>& allocations) {
  std::sort(allocations.begin(), allocations.end());
  const auto same = std::ranges::unique(allocations);
  allocations.erase(same.begin(), same.end());
}

// All allocations that it may be, including the fields. Merging field by field would be quadratic
// in a tuple of all weights.
std::vector<int32_t> flattened(const Alias& alias) {
  std::vector<int32_t> all;
  gather(alias, all);
  sort_unique(all);
  return all;
}

// A value that may be more allocations than this is not tracked: they are all needed to the end.
constexpr size_t kMostAliases = 256;

bool may_hold_tensors(const Annotation& annotation) {
  return !annotation || !(as_prim(annotation) || as_shape(annotation));
}

class Walk {
 public:
  explicit Walk(const Keeps& keeps) : keeps_(keeps) {}

  Liveness run(const Function& function) {
    Alias result = sequence(body_of(function));
    for (int32_t one : flattened(result)) escape(one);
    live_.end = position_;
    for (Allocation& one : live_.allocations) {
      if (one.escapes) one.last = live_.end;
    }
    return std::move(live_);
  }

 private:
  void escape(int32_t allocation) {
    live_.allocations[static_cast<size_t>(allocation)].escapes = true;
  }

  void use(const std::vector<int32_t>& allocations) {
    for (int32_t one : allocations) {
      Allocation& allocation = live_.allocations[static_cast<size_t>(one)];
      allocation.last = std::max(allocation.last, position_);
    }
  }

  Alias alias_of(const Expr& atom) {
    if (const auto* var = as<VarNode>(atom)) {
      auto found = aliases_.find(var);
      return found == aliases_.end() ? Alias{} : found->second;
    }
    if (const auto* tuple = as<TupleNode>(atom)) {
      Alias alias;
      for (const Expr& field : tuple->fields) alias.fields.push_back(alias_of(field));
      return alias;
    }
    if (const auto* item = as<TupleGetItemNode>(atom)) {
      auto known = aliases_.find(as<VarNode>(item->tuple));
      return known == aliases_.end() ? field_of(alias_of(item->tuple), item->index)
                                     : field_of(known->second, item->index);
    }
    // A function value uses everything that it captures.
    if (as<FunctionNode>(atom)) return any_of(atom);
    return {};
  }

  static Alias field_of(const Alias& tuple, int index) {
    if (static_cast<size_t>(index) >= tuple.fields.size()) return tuple;
    Alias field = tuple.fields[static_cast<size_t>(index)];
    merge(field.allocations, tuple.allocations);
    field.whole &= tuple.allocations.empty();
    return field;
  }

  // May be any of the variables inside.
  Alias any_of(const Expr& expr) {
    Alias alias{.allocations = {}, .whole = false, .fields = {}};
    visit(expr, [&](const Expr& e) {
      if (as<VarNode>(e)) gather(alias_of(e), alias.allocations);
    });
    sort_unique(alias.allocations);
    return alias;
  }

  Alias sequence(const SeqNode& seq) {
    for (const Block& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        Alias alias = value(binding);
        ++position_;
        if (may_hold_tensors(binding.var->annotation)) {
          aliases_[binding.var.get()] = bounded(std::move(alias));
        }
      }
    }
    return alias_of_result(seq.result);
  }

  // Drops the allocations if they are too many: they escape, so that nothing else reuses their
  // memory.
  Alias bounded(Alias alias) {
    if (alias.allocations.size() <= kMostAliases) return alias;
    for (int32_t one : alias.allocations) escape(one);
    return Alias{.allocations = {}, .whole = false, .fields = std::move(alias.fields)};
  }

  Alias alias_of_result(const Expr& expr) {
    if (const auto* seq = as<SeqNode>(expr)) return sequence(*seq);
    return alias_of(expr);
  }

  Alias value(const Binding& binding) {
    const Expr& expr = binding.value;
    if (const auto* seq = as<SeqNode>(expr)) {
      ++depth_;
      Alias alias = sequence(*seq);
      --depth_;
      return alias;
    }
    if (const auto* branch = as<IfNode>(expr)) {
      use(any_of(branch->condition).allocations);
      ++depth_;
      Alias joined{.allocations = {}, .whole = false, .fields = {}};
      for (const Expr* side : {&branch->then_branch, &branch->else_branch}) {
        gather(alias_of_result(*side), joined.allocations);
      }
      sort_unique(joined.allocations);
      --depth_;
      return joined;
    }
    const auto* call = as<CallNode>(expr);
    if (!call) return alias_of(expr);
    if (is_call_tir(expr)) return kernel_call(binding, *call);
    const std::string& op = called_operator(expr);
    if (op == "reshape") return alias_of(call->args[0]);
    if (op == "memory.alloc_tensor") {
      return Alias{.allocations = {allocate(binding, 0)}, .whole = true, .fields = {}};
    }
    if (op == "call_tir_dps") return planned_call(binding, *call);
    Alias alias = any_of(expr);
    use(alias.allocations);
    if (op.empty() && keeps_(call->callee)) {
      for (int32_t one : alias.allocations) escape(one);
    }
    return alias;
  }

  int32_t allocate(const Binding& binding, size_t output) {
    live_.allocations.push_back(
        {binding.var.get(), output, position_, position_, false, depth_ > 0});
    return static_cast<int32_t>(live_.allocations.size()) - 1;
  }

  Alias argument(const Expr& arg, KernelUse& kernel) {
    Alias alias = alias_of(arg);
    KernelUse::Argument one{flattened(alias), alias.whole && alias.fields.empty()};
    use(one.allocations);
    kernel.args.push_back(std::move(one));
    return alias;
  }

  // The call has no value.
  Alias planned_call(const Binding& binding, const CallNode& call) {
    KernelUse kernel{.position = position_, .args = {}};
    for (const Expr& arg : planned_tensors(call)) argument(arg, kernel);
    live_.calls[binding.var.get()] = std::move(kernel);
    return {};
  }

  Alias kernel_call(const Binding& binding, const CallNode& call) {
    KernelUse kernel{.position = position_, .args = {}};
    std::vector<Alias> aliases;
    for (const Expr& arg : call_tir_args(call)) aliases.push_back(argument(arg, kernel));
    const auto* inout = find_attr<std::vector<int64_t>>(call.attrs, "inout_indices");
    std::vector<Alias> results;
    for (size_t j = 0; j < call.annotations.size(); ++j) {
      int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
      if (source >= 0 && static_cast<size_t>(source) < aliases.size()) {
        results.push_back(aliases[static_cast<size_t>(source)]);
        continue;
      }
      const int32_t id = allocate(binding, j);
      live_.outputs[binding.var.get()].push_back(id);
      results.push_back(Alias{.allocations = {id}, .whole = true, .fields = {}});
    }
    live_.calls[binding.var.get()] = std::move(kernel);
    if (results.size() == 1) return std::move(results[0]);
    return Alias{.allocations = {}, .whole = true, .fields = std::move(results)};
  }

  const Keeps& keeps_;
  Liveness live_;
  std::unordered_map<const VarNode*, Alias> aliases_;
  int64_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Expr> planned_tensors(const CallNode& call) {
  std::vector<Expr> tensors;
  for (const Expr& arg : call.args) {
    if (const auto* tuple = as<TupleNode>(arg)) {
      tensors.insert(tensors.end(), tuple->fields.begin(), tuple->fields.end());
    } else if (as<VarNode>(arg)) {
      tensors.push_back(arg);
    }
  }
  return tensors;
}

Liveness find_liveness(const Function& function, const Keeps& keeps) {
  return Walk(keeps).run(function);
}

std::set<std::string> functions_that_keep(const Module& module) {
  std::set<std::string> keep;
  std::map<std::string, std::set<std::string>> callees;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || source->facts.kernel) continue;
    visit(source->body, [&, &name = name](const Expr& e) {
      const auto* call = as<CallNode>(e);
      if (!call) return;
      if (const auto* global = as<GlobalVarNode>(call->callee)) {
        callees[global->name].insert(name);
      } else if (called_operator(e).empty()) {
        keep.insert(name);
      }
    });
  }
  // Propagate from callees to callers.
  std::vector<std::string> open(keep.begin(), keep.end());
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    for (const std::string& caller : callees[name]) {
      if (keep.insert(caller).second) open.push_back(caller);
    }
  }
  return keep;
}

}  // namespace tapml::analysis
