// Checks the tensors of a memory plan in their storages.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "analysis/liveness.h"
#include "analysis/verifier_impl.h"
#include "arith/evaluate.h"
#include "relax/bounds.h"
#include "relax/visit.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// The bytes of a storage that a tensor occupies.
struct Range {
  const VarNode* storage = nullptr;
  PrimExpr begin, end;
  std::string name;
  int64_t first = -1, last = -1;  // positions of kernel calls that use it
};

// A plan must hold for all values of its variables, so a few values are enough to find errors.
constexpr int64_t kTried[] = {1, 2, 3, 5, 8, 17, 64};

class StorageCheck {
 public:
  StorageCheck(const Module& module, const Function& function, Report& report)
      : module_(module), function_(function), report_(report) {}

  void run() {
    collect();
    if (ranges_.empty()) return;
    try_values();
    for (const Range& range : ranges_) check_inside(range);
    const Liveness live = find_liveness(function_, [](const Expr&) { return false; });
    std::vector<std::pair<int64_t, const VarNode*>> calls;
    for (const auto& [var, use] : live.calls) calls.emplace_back(use.position, var);
    std::sort(calls.begin(), calls.end());
    for (const auto& [position, var] : calls) {
      for (const KernelUse::Argument& arg : live.calls.at(var).args) {
        for (int32_t one : arg.allocations) {
          const Allocation& allocation = live.allocations[static_cast<size_t>(one)];
          auto found = by_var_.find(allocation.owner);
          if (found == by_var_.end()) continue;
          Range& range = ranges_[found->second];
          if (range.first < 0) range.first = position;
          range.last = allocation.last;
        }
      }
    }
    for (const auto& [position, var] : calls) {
      if (auto call = calls_.find(var); call != calls_.end()) {
        check_call(position, *call->second, live, var);
      }
    }
  }

 private:
  void collect() {
    for (const Variable& param : function_.params) {
      for (const Var& var : vars_of(param->annotation)) defined_.insert(var.get());
    }
    visit_bindings(function_.body, [&](const Binding& binding, bool) {
      if (binding.match_cast) equate(annotation_of(binding.value), binding.match_cast);
      const auto* call = as<CallNode>(binding.value);
      if (!call) return;
      const std::string& op = called_operator(binding.value);
      if (op == "call_tir_dps") calls_[binding.var.get()] = call;
      if (op == "memory.alloc_storage") {
        const auto* bytes = call->args.empty() ? nullptr : as<ShapeNode>(call->args[0]);
        if (bytes && bytes->dims.size() == 1) storages_[binding.var.get()] = bytes->dims[0];
      } else if (op == "memory.alloc_tensor" && call->args.size() >= 2) {
        const auto* storage = as<VarNode>(call->args[0]);
        const auto* shape = as<ShapeNode>(call->args[1]);
        const auto* dtype = find_attr<DType>(call->attrs, "dtype");
        if (!storage || !shape || !dtype) return;  // R13
        PrimExpr bytes = static_cast<int64_t>(dtype_bytes(*dtype));
        // Where two extents are negative, which a run refuses, their product is not a size.
        for (const PrimExpr& dim : shape->dims) bytes = bytes * tapml::max(dim, 0);
        const auto* offset = call->args.size() == 3 ? as<PrimValueNode>(call->args[2]) : nullptr;
        by_var_[binding.var.get()] = ranges_.size();
        const PrimExpr begin = offset ? offset->value : PrimExpr(0);
        ranges_.push_back({storage, begin, begin + bytes, binding.var->name});
      }
    });
  }

  static std::vector<Var> vars_of(const Annotation& annotation) {
    std::vector<Var> vars;
    if (annotation) collect_vars(annotation, vars);
    return vars;
  }

  // Records what a passing match_cast makes equal.
  void equate(const Annotation& found, const Annotation& expected) {
    auto equate_dims = [&](const Dims& a, const Dims& b) {
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) equal_.emplace_back(a[i], b[i]);
    };
    const auto *tensor = as_tensor(found), *cast_tensor = as_tensor(expected);
    if (tensor && cast_tensor && tensor->shape && cast_tensor->shape) {
      equate_dims(*tensor->shape, *cast_tensor->shape);
    }
    const auto *shape = as_shape(found), *cast_shape = as_shape(expected);
    if (shape && cast_shape && shape->dims && cast_shape->dims) {
      equate_dims(*shape->dims, *cast_shape->dims);
    }
    const auto *prim = as_prim(found), *cast_prim = as_prim(expected);
    if (prim && cast_prim && prim->value && cast_prim->value) {
      equal_.emplace_back(prim->value, cast_prim->value);
    }
    const auto *tuple = as_tuple(found), *cast_tuple = as_tuple(expected);
    if (tuple && cast_tuple && tuple->fields.size() == cast_tuple->fields.size()) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        equate(tuple->fields[i], cast_tuple->fields[i]);
      }
    }
  }

  // Whether the values can occur in one run; sets the variables that casts define.
  bool follow_casts(arith::Values& values) const {
    std::set<const tapml::ExprNode*> defined = defined_;
    for (const auto& [found, expected] : equal_) {
      const std::optional<int64_t> value = arith::evaluate(found, values);
      if (expected.is_var() && defined.insert(expected.get()).second) {
        if (value) values[expected.get()] = *value;
        continue;
      }
      const std::optional<int64_t> wanted = arith::evaluate(expected, values);
      if (value && wanted && *value != *wanted) return false;
    }
    return true;
  }

  void try_values() {
    std::vector<Var> vars;
    for (const auto& [found, expected] : equal_) {
      collect_vars(found, vars);
      collect_vars(expected, vars);
    }
    for (const Range& range : ranges_) {
      collect_vars(range.begin, vars);
      collect_vars(range.end, vars);
      auto storage = storages_.find(range.storage);
      if (storage != storages_.end()) collect_vars(storage->second, vars);
    }
    for (int64_t tried : kTried) {
      arith::Values values;
      for (size_t i = 0; i < vars.size(); ++i) {
        const Var& var = vars[i];
        // A variable that a cast of a value of unknown shape defines may depend on others: it has
        // no value here.
        if (!defined_.contains(var.get())) continue;
        const int64_t most = bound_of(var->name, module_, function_).value_or(INT64_MAX);
        // Different variables get different values in some of the trials.
        const auto number = static_cast<int64_t>(i % 3);
        values.emplace(var.get(), std::min(most, tried + (tried > 2 ? number : 0)));
      }
      if (follow_casts(values)) values_.push_back(std::move(values));
    }
  }

  void check_inside(const Range& range) {
    auto storage = storages_.find(range.storage);
    if (storage == storages_.end()) return;
    for (const arith::Values& values : values_) {
      auto begin = arith::evaluate(range.begin, values), end = arith::evaluate(range.end, values),
           all = arith::evaluate(storage->second, values);
      if (!begin || !end || !all || (*begin >= 0 && *end <= *all)) continue;
      report_.at("binding " + range.name);
      return report_.add("R14",
                         "the tensor is not inside its storage '" + range.storage->name + "'");
    }
  }

  bool overlap(const Range& a, const Range& b) const {
    if (a.storage != b.storage) return false;
    return std::ranges::any_of(values_, [&](const arith::Values& values) {
      auto a_begin = arith::evaluate(a.begin, values), a_end = arith::evaluate(a.end, values),
           b_begin = arith::evaluate(b.begin, values), b_end = arith::evaluate(b.end, values);
      if (!a_begin || !a_end || !b_begin || !b_end) return false;  // beyond 64 bits
      return std::max(*a_begin, *b_begin) < std::min(*a_end, *b_end);
    });
  }

  void check_call(int64_t position, const CallNode& call, const Liveness& live,
                  const VarNode* var) {
    const std::vector<Expr> tensors = planned_tensors(call);
    const auto* inputs = call.args.size() > 1 ? as<TupleNode>(call.args[1]) : nullptr;
    const auto* outputs = call.args.size() > 2 ? as<TupleNode>(call.args[2]) : nullptr;
    if (!inputs || !outputs) return;  // R6
    const std::vector<KernelUse::Argument>& args = live.calls.at(var).args;
    std::vector<const Range*> read, written, workspaces;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool is_input = i < inputs->fields.size();
      const bool is_workspace = i >= inputs->fields.size() + outputs->fields.size();
      std::vector<const Range*>& into = is_input ? read : is_workspace ? workspaces : written;
      for (int32_t one : args[i].allocations) {
        auto range = by_var_.find(live.allocations[static_cast<size_t>(one)].owner);
        if (range != by_var_.end()) into.push_back(&ranges_[range->second]);
      }
    }
    report_.at("binding " + var->name);
    auto check = [&](const Range& one, const Range& other, const char* why) {
      if (&one == &other || !overlap(one, other)) return;
      report_.add("R14", "'" + one.name + "' overlaps '" + other.name + "' in the storage '" +
                             one.storage->name + "', " + why);
    };
    for (const Range* workspace : workspaces) {
      for (const Range* input : read) check(*workspace, *input, "which the call reads");
      for (const Range* output : written) check(*workspace, *output, "which the call writes");
    }
    for (size_t i = 0; i < written.size(); ++i) {
      for (size_t j = 0; j < i; ++j) check(*written[i], *written[j], "which the call writes");
    }
    written.insert(written.end(), workspaces.begin(), workspaces.end());
    for (const Range* one : written) {
      if (one->first != position) continue;  // it is written again
      for (const Range* other : active(one->storage, position)) {
        if (other->first < position && other->last > position) {
          check(*one, *other, "which is needed later");
        }
      }
    }
  }

  // Tensors of the storage that were defined earlier and are needed at `position` or later.
  const std::vector<const Range*>& active(const VarNode* storage, int64_t position) {
    if (by_first_.empty()) {
      for (const Range& range : ranges_) {
        if (range.first >= 0) by_first_.push_back(&range);
      }
      std::sort(by_first_.begin(), by_first_.end(),
                [](const Range* a, const Range* b) { return a->first < b->first; });
    }
    for (; entered_ < by_first_.size() && by_first_[entered_]->first <= position; ++entered_) {
      active_[by_first_[entered_]->storage].push_back(by_first_[entered_]);
    }
    std::vector<const Range*>& list = active_[storage];
    std::erase_if(list, [&](const Range* range) { return range->last < position; });
    return list;
  }

  const Module& module_;
  const Function& function_;
  Report& report_;
  std::unordered_map<const VarNode*, PrimExpr> storages_;
  std::vector<Range> ranges_;
  std::unordered_map<const VarNode*, size_t> by_var_;  // of the tensor
  std::unordered_map<const VarNode*, const CallNode*> calls_;
  std::set<const tapml::ExprNode*> defined_;          // variables, by parameters
  std::vector<std::pair<PrimExpr, PrimExpr>> equal_;  // by match_cast, in order
  std::vector<arith::Values> values_;
  std::vector<const Range*> by_first_;
  size_t entered_ = 0;
  std::unordered_map<const VarNode*, std::vector<const Range*>> active_;
};

}  // namespace

void verify_storages(const Module& module, const Function& function, Report& report) {
  StorageCheck(module, function, report).run();
}

}  // namespace tapml::analysis
