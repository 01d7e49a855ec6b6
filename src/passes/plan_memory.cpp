#include "passes/plan_memory.h"

#include <algorithm>
#include <memory>
#include <set>

#include "analysis/liveness.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/memory/assign.h"
#include "passes/memory/call_depth.h"
#include "passes/memory/in_place.h"
#include "relax/memory.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Bytes of the workspace that a call_tir takes from its caller; null: none.
PrimExpr workspace_bytes(const CallNode& call) {
  if (call.args.size() < 4) return {};
  return as<ShapeNode>(call.args[3])->dims.at(0);
}

const TensorAnnotation& known_tensor(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    throw_user("an output of a kernel has no known shape and dtype", "function body",
               "Tensor(shape, dtype)", to_string(annotation));
  }
  return *tensor;
}

// One function: what needs memory, who shares it, and the body rewritten.
class Planner {
 public:
  Planner(const Module& module, const Function& function, const Bounds& bounds,
          const PlanMemoryOptions& options, const analysis::Keeps& keeps)
      : module_(module),
        function_(function),
        bounds_(bounds),
        options_(options),
        sizes_(var_bounds_),
        live_(analysis::find_liveness(function, keeps)) {}

  // Decides; may_be_static: whether storages may be there from load on.
  void decide(bool may_be_static) {
    for (const Variable& param : function_.params) define(param->annotation, 0);
    for (const Variable& param : function_.params) bind(param->annotation);
    item_of_.assign(live_.allocations.size(), -1);
    collect(body_of(function_), -1);
    if (fixed_sizes()) {
      for (MemoryItem& item : items_) {
        item.size = sizes_.add(*sizes_.most(item.size));
        item.known = 0;
      }
      static_ = may_be_static && !items_.empty();
    }
    if (!options_.reuse) {
      for (MemoryItem& item : items_) item.alone = true;
    }
    if (static_) separate_what_escapes();
    storages_ = assign_storages(items_, sizes_);
    storage_of_.resize(items_.size());
    for (size_t s = 0; s < storages_.size(); ++s) {
      for (int32_t item : storages_[s].items) storage_of_[static_cast<size_t>(item)] = s;
    }
    number_static_storages();
  }

  size_t static_count() const { return static_count_; }

  FunctionRef rewrite(size_t first_static) {
    first_static_ = first_static;
    storage_vars_.resize(storages_.size());
    position_ = 0;
    auto result = std::make_shared<Function>(function_);
    result->body = rewrite_seq(body_of(function_), true);
    for (const auto& [name, bound] : bounds_used_) result->attrs[kBoundPrefix + name] = bound;
    return result;
  }

 private:
  // ---- what needs memory

  void define(const Annotation& annotation, int64_t place) {
    std::vector<Var> vars;
    collect_vars(annotation, vars);
    for (const Var& var : vars) known_.emplace(var.get(), place);
  }

  // Variables that a dimension gives their value are checked there, so their bounds count.
  void bind(const Annotation& annotation) {
    auto dims = [&](const Dims& list) {
      for (const PrimExpr& dim : list) {
        if (!dim.is_var()) continue;
        auto bound = bounds_.find(dim->name);
        if (bound == bounds_.end()) continue;
        var_bounds_.emplace(dim.get(), bound->second);
        bounds_used_.insert(*bound);
      }
    };
    if (const auto* tensor = as_tensor(annotation); tensor && tensor->shape) dims(*tensor->shape);
    if (const auto* shape = as_shape(annotation); shape && shape->dims) dims(*shape->dims);
    if (const auto* tuple = as_tuple(annotation)) {
      for (const Annotation& field : tuple->fields) bind(field);
    }
  }

  int64_t known(const PrimExpr& bytes) const {
    int64_t place = 0;
    for (const Var& var : free_vars(bytes)) {
      auto found = known_.find(var.get());
      if (found != known_.end()) place = std::max(place, found->second);
    }
    return place;
  }

  // `outer`: the position before the branch that all this stands in; -1 at the top.
  void collect(const SeqNode& seq, int64_t outer) {
    for (const Block& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        int64_t begin = outer >= 0 ? outer : position_;
        visit_parts(binding.value, [&](const SeqNode& part) { collect(part, begin); });
        if (is_call_tir(binding.value) && !binding.match_cast) collect_call(binding, outer);
        ++position_;
        if (binding.match_cast) {
          define(binding.match_cast, position_);
          bind(binding.match_cast);
        }
      }
    }
    visit_parts(seq.result, [&](const SeqNode& part) { collect(part, outer); });
  }

  template <class F>
  static void visit_parts(const Expr& value, F&& f) {
    if (const auto* seq = as<SeqNode>(value)) f(*seq);
    if (const auto* branch = as<IfNode>(value)) {
      visit_parts(branch->then_branch, f);
      visit_parts(branch->else_branch, f);
    }
  }

  void collect_call(const Binding& binding, int64_t outer) {
    const auto& call = *as<CallNode>(binding.value);
    auto outputs = live_.outputs.find(binding.var.get());
    if (outputs != live_.outputs.end()) {
      for (int32_t id : outputs->second) {
        const analysis::Allocation& allocation = live_.allocations[static_cast<size_t>(id)];
        const TensorAnnotation& tensor = known_tensor(call.annotations[allocation.output]);
        int32_t size = sizes_.add(bytes_of(tensor));
        int32_t& item = item_of_[static_cast<size_t>(id)];
        item = in_place(call, binding.var.get(), allocation);
        if (item >= 0) {
          MemoryItem& taken = items_[static_cast<size_t>(item)];
          taken.last = std::max(taken.last, allocation.last);
          taken.escapes |= allocation.escapes;
        } else {
          item = add_item(size, allocation.first, allocation.last, outer);
          items_.back().escapes = allocation.escapes;
        }
      }
    }
    if (PrimExpr bytes = workspace_bytes(call)) {
      workspace_of_[binding.var.get()] = add_item(sizes_.add(bytes), position_, position_, outer);
    }
  }

  // Equal annotations are one node in what a model repeats.
  const PrimExpr& bytes_of(const TensorAnnotation& tensor) {
    PrimExpr& bytes = bytes_by_annotation_[&tensor];
    if (!bytes) bytes = storage_bytes(*tensor.shape, *tensor.dtype);
    return bytes;
  }

  int32_t add_item(int32_t size, int64_t first, int64_t last, int64_t outer) {
    MemoryItem item{.size = size, .first = first, .last = last};
    item.known = known(sizes_.bytes(size));
    item.place = outer >= 0 ? outer : first;
    if (item.known > item.place) {
      // Its size is only known inside of the branch.
      item.place = first;
      item.alone = true;
    }
    items_.push_back(item);
    return static_cast<int32_t>(items_.size() - 1);
  }

  // The item whose storage the output may take over; -1: none.
  int32_t in_place(const CallNode& call, const VarNode* owner, const analysis::Allocation& output) {
    if (!options_.in_place || !options_.reuse || call.annotations.size() != 1) return -1;
    const analysis::KernelUse& use = live_.calls.at(owner);
    const BaseFunction* callee = module_.find(call_tir_callee(call));
    if (!callee || !is_kernel(callee)) return -1;
    const tir::PrimFunc& func = kernel_implementation(module_, call_tir_callee(call));
    for (size_t i = 0; i < use.args.size(); ++i) {
      const analysis::KernelUse::Argument& arg = use.args[i];
      if (arg.allocations.size() != 1 || !arg.whole) continue;
      auto id = static_cast<size_t>(arg.allocations[0]);
      const analysis::Allocation& input = live_.allocations[id];
      if (input.last != output.first || input.escapes || input.nested != output.nested) continue;
      // Another name of the same memory has to be read as harmlessly.
      bool good = i < func.params.size() && use.args.size() + 1 == func.params.size();
      for (size_t j = 0; good && j < use.args.size(); ++j) {
        const auto& others = use.args[j].allocations;
        if (!std::binary_search(others.begin(), others.end(), arg.allocations[0])) continue;
        good = use.args[j].whole && shares_in_place(func, j);
      }
      int32_t item = item_of_[id];
      // What lies in the item's storage besides may live longer than this input.
      if (good && items_[static_cast<size_t>(item)].last == output.first) return item;
    }
    return -1;
  }

  bool shares_in_place(const tir::PrimFunc& func, size_t input) {
    auto [known, fresh] = in_place_.emplace(std::pair(&func, input), false);
    if (fresh) known->second = may_compute_in_place(func, input, func.params.size() - 1);
    return known->second;
  }

  // ---- static storage

  bool fixed_sizes() const {
    return std::all_of(items_.begin(), items_.end(),
                       [&](const MemoryItem& item) { return sizes_.most(item.size).has_value(); });
  }

  void separate_what_escapes() {
    for (MemoryItem& item : items_) item.alone |= item.escapes;
  }

  // The largest first, so that functions that share them need the least in all.
  void number_static_storages() {
    static_index_.assign(storages_.size(), -1);
    if (!static_) return;
    std::vector<size_t> order;
    for (size_t s = 0; s < storages_.size(); ++s) {
      if (!storages_[s].escapes) order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return sizes_.typical(storages_[a].size) > sizes_.typical(storages_[b].size);
    });
    for (size_t s : order) static_index_[s] = static_cast<int64_t>(static_count_++);
  }

  // ---- the body rewritten

  // What was bound in dataflow blocks stands in plain ones now: memory has effects.
  Expr rewrite_seq(const SeqNode& seq, bool top) {
    std::vector<Block> blocks;
    for (const Block& block : seq.blocks) {
      Block outer = std::move(out_);
      out_ = Block{.dataflow = false, .bindings = {}};
      for (const Binding& binding : block.bindings) rewrite_binding(binding, top);
      std::swap(outer, out_);
      if (!outer.bindings.empty()) blocks.push_back(std::move(outer));
    }
    Expr result = as<SeqNode>(seq.result) ? rewrite_seq(*as<SeqNode>(seq.result), false)
                                          : substitute(seq.result, plain_);
    return make_seq(std::move(blocks), std::move(result));
  }

  Expr rewrite_value(const Expr& value) {
    if (const auto* seq = as<SeqNode>(value)) return rewrite_seq(*seq, false);
    if (const auto* branch = as<IfNode>(value)) {
      auto node = std::make_shared<IfNode>();
      node->condition = substitute(branch->condition, plain_);
      node->then_branch = rewrite_value(branch->then_branch);
      node->else_branch = rewrite_value(branch->else_branch);
      return node;
    }
    return substitute(value, plain_);
  }

  void rewrite_binding(const Binding& source, bool top) {
    if (top) allocate_storages(position_);
    Binding binding = source;
    bool kernel = is_call_tir(source.value) && !source.match_cast;
    binding.value = rewrite_value(source.value);
    // A storage whose size is known only here.
    if (!top) allocate_storages(position_);
    ++position_;
    if (source.var->dataflow) {
      binding.var = make_variable(source.var->name, source.var->annotation);
      plain_[source.var.get()] = binding.var;
    }
    if (!kernel) {
      out_.bindings.push_back(std::move(binding));
      return;
    }
    rewrite_call(binding, source.var.get());
  }

  // Storages are in the order of their places.
  void allocate_storages(int64_t place) {
    for (; next_storage_ < storages_.size() && storages_[next_storage_].place <= place;
         ++next_storage_) {
      AttrMap attrs;
      if (static_index_[next_storage_] >= 0) {
        attrs[kStaticAttr] = static_cast<int64_t>(first_static_) + static_index_[next_storage_];
      }
      Variable var = make_variable("st" + std::to_string(next_storage_), object_annotation());
      emit(var,
           make_op_call("memory.alloc_storage",
                        {make_shape({sizes_.bytes(storages_[next_storage_].size)})},
                        std::move(attrs)),
           {});
      storage_vars_[next_storage_] = var;
    }
  }

  void emit(Variable var, Expr value, const Origin& origin) {
    out_.bindings.push_back({std::move(var), std::move(value), nullptr, origin});
  }

  const Variable& storage(int32_t item) const {
    return storage_vars_[storage_of_[static_cast<size_t>(item)]];
  }

  void rewrite_call(const Binding& binding, const VarNode* owner) {
    const auto& call = *as<CallNode>(binding.value);
    const std::vector<Expr>& args = call_tir_args(call);
    const auto* inout = find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
    std::vector<Expr> outputs, results;
    bool single = call.annotations.size() == 1;
    auto ids = live_.outputs.find(owner);
    size_t next = 0;
    for (size_t j = 0; j < call.annotations.size(); ++j) {
      int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
      if (source >= 0) {
        results.push_back(args.at(static_cast<size_t>(source)));
        continue;
      }
      const auto& tensor = known_tensor(call.annotations[j]);
      Variable var =
          single ? binding.var
                 : make_variable(binding.var->name + "_" + std::to_string(j), call.annotations[j]);
      int32_t item = item_of_[static_cast<size_t>(ids->second[next++])];
      emit(var,
           make_op_call("memory.alloc_tensor", {storage(item), make_shape(*tensor.shape)},
                        {{"dtype", *tensor.dtype}}),
           {});
      outputs.push_back(var);
      results.push_back(var);
    }
    std::vector<Expr> dps = {call.args[0], make_tuple(args), make_tuple(outputs)};
    auto workspace = workspace_of_.find(owner);
    if (!call_tir_symbols(call).empty() || workspace != workspace_of_.end()) {
      dps.push_back(make_shape(call_tir_symbols(call)));
    }
    if (workspace != workspace_of_.end()) dps.push_back(storage(workspace->second));
    emit(make_variable("done", object_annotation()), make_op_call("call_tir_dps", std::move(dps)),
         binding.origin);
    if (!single) {
      emit(binding.var, make_tuple(results), {});
    } else if (outputs.empty()) {
      emit(binding.var, results[0], {});
    }
  }

  const Module& module_;
  const Function& function_;
  const Bounds& bounds_;
  const PlanMemoryOptions& options_;
  VarBounds var_bounds_;
  Bounds bounds_used_;
  Sizes sizes_;
  analysis::Liveness live_;

  std::map<const tapml::ExprNode*, int64_t> known_;  // where a symbolic variable has a value
  std::vector<MemoryItem> items_;
  std::vector<int32_t> item_of_;  // by allocation
  std::map<const VarNode*, int32_t> workspace_of_;
  std::map<const TensorAnnotation*, PrimExpr> bytes_by_annotation_;
  std::map<std::pair<const tir::PrimFunc*, size_t>, bool> in_place_;

  bool static_ = false;
  std::vector<SharedStorage> storages_;
  std::vector<size_t> storage_of_;  // by item
  std::vector<int64_t> static_index_;
  size_t static_count_ = 0, first_static_ = 0;

  int64_t position_ = 0;
  size_t next_storage_ = 0;
  std::vector<Variable> storage_vars_;
  Block out_;
  ExprMap plain_;
};

void add_bounds(const AttrMap& attrs, Bounds& bounds) {
  for (const auto& [name, value] : attrs) {
    const auto* bound = std::get_if<int64_t>(&value);
    if (bound && *bound >= 0 && name.starts_with(kBoundPrefix)) {
      auto [known, fresh] = bounds.emplace(name.substr(std::string(kBoundPrefix).size()), *bound);
      if (!fresh) known->second = std::min(known->second, *bound);
    }
  }
}

}  // namespace

Module plan_memory(const Module& module) { return plan_memory_with(module, {}); }

Module plan_memory_with(const Module& module, const PlanMemoryOptions& options) {
  if (attr_or<std::string>(module.attrs, "phase", "") == "plan") return module;
  Module result = module;
  result.attrs["phase"] = std::string("plan");
  Bounds bounds = options.bounds;
  add_bounds(module.attrs, bounds);
  const std::set<std::string> keeping = analysis::functions_that_keep(module);
  analysis::Keeps keeps = [&](const Expr& callee) {
    const auto* global = as<GlobalVarNode>(callee);
    return !global || keeping.contains(global->name);
  };
  CallDepth calls(module);
  std::map<std::string, Bounds> bounds_of;
  std::map<std::string, std::unique_ptr<Planner>> planners;
  std::map<std::string, size_t> counts;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source)) continue;
    Bounds& own = bounds_of[name] = bounds;
    add_bounds(source->attrs, own);
    auto planner = std::make_unique<Planner>(module, *source, own, options, keeps);
    planner->decide(calls.is_simple(name));
    counts[name] = planner->static_count();
    planners[name] = std::move(planner);
  }
  // A callee's static storages come behind those of its callers, which are in use.
  std::map<std::string, size_t> firsts = calls.first_static(counts);
  for (const auto& [name, planner] : planners) {
    result.functions[name] = planner->rewrite(firsts[name]);
  }
  return result;
}

}  // namespace tapml::passes
