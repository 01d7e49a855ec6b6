#include "passes/plan_memory.h"

#include <set>

#include "arith/analyzer.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

PrimExpr storage_bytes(const Dims& shape, DType dtype) {
  PrimExpr bytes = static_cast<int64_t>(dtype_bytes(dtype));
  for (const PrimExpr& dim : shape) bytes = bytes * dim;
  arith::Analyzer analyzer;
  for (const Var& var : free_vars(bytes)) analyzer.bind(var, 0, std::nullopt);
  bytes = analyzer.simplify(bytes);
  if (analyzer.prove_divisible(bytes, 16)) return bytes;
  return analyzer.simplify(floordiv(bytes + 15, 16) * 16);
}

namespace {

std::vector<const VarNode*> variables_of(const Expr& expr) {
  std::vector<const VarNode*> vars;
  visit(expr, [&](const Expr& e) {
    if (e->kind == relax::ExprKind::kVar) vars.push_back(static_cast<const VarNode*>(e.get()));
  });
  return vars;
}

class Planner {
 public:
  explicit Planner(const Function& function) : function_(function), seq_(body_of(function)) {
    for (const Variable& param : function.params) {
      std::vector<Var> vars;
      collect_vars(param->annotation, vars);
      for (const Var& var : vars) analyzer_.bind(var, 0, std::nullopt);
    }
  }

  FunctionRef run() {
    find_last_uses();
    std::vector<Block> blocks;
    size_t position = 0;
    for (const Block& block : seq_.blocks) {
      out_ = Block{.dataflow = false, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        plan(binding);
        release_dead(position++);
      }
      blocks.push_back(std::move(out_));
    }
    auto result = std::make_shared<Function>(function_);
    result->body = without_dataflow(std::move(blocks));
    return result;
  }

 private:
  // What was bound in dataflow blocks stands in plain ones now: memory has effects.
  Expr without_dataflow(std::vector<Block> blocks) const {
    ExprMap plain;
    for (Block& block : blocks) {
      for (Binding& binding : block.bindings) {
        binding.value = substitute(binding.value, plain);
        if (!binding.var->dataflow) continue;
        Variable var = make_variable(binding.var->name, binding.var->annotation);
        plain[binding.var.get()] = var;
        binding.var = var;
      }
    }
    return make_seq(std::move(blocks), substitute(seq_.result, plain));
  }

  struct StorageState {
    Variable var;
    PrimExpr bytes;
    std::set<const VarNode*> users;  // live variables that may look at it
    bool free = false;
    bool pinned = false;
  };

  void find_last_uses() {
    size_t position = 0;
    for (const Block& block : seq_.blocks) {
      for (const Binding& binding : block.bindings) {
        last_use_[binding.var.get()] = position;
        for (const VarNode* var : variables_of(binding.value)) last_use_[var] = position;
        ++position;
      }
    }
    for (const VarNode* var : variables_of(seq_.result)) last_use_[var] = position;
    end_ = position;
  }

  // Storages that `var` may look at.
  void alias(const VarNode* var, const Expr& source) {
    for (const VarNode* other : variables_of(source)) {
      auto it = storages_of_.find(other);
      if (it == storages_of_.end()) continue;
      for (size_t s : it->second) look_at(var, s);
    }
  }

  void look_at(const VarNode* var, size_t storage) {
    storages_of_[var].insert(storage);
    storages_[storage].users.insert(var);
    if (last_use_[var] == end_) storages_[storage].pinned = true;
  }

  void release_dead(size_t position) {
    for (StorageState& storage : storages_) {
      if (storage.free || storage.pinned) continue;
      std::erase_if(storage.users, [&](const VarNode* var) { return last_use_[var] <= position; });
      storage.free = storage.users.empty();
    }
  }

  void emit(Variable var, Expr value, const Origin& origin) {
    out_.bindings.push_back({std::move(var), std::move(value), nullptr, origin});
  }

  size_t take_storage(const PrimExpr& bytes) {
    auto fits = [&](const StorageState& storage, bool larger) {
      if (!storage.free) return false;
      if (analyzer_.prove_equal(storage.bytes, bytes)) return true;
      return larger && storage.bytes.is_int() && bytes.is_int() &&
             storage.bytes->int_value >= bytes->int_value;
    };
    for (bool larger : {false, true}) {
      for (size_t s = 0; s < storages_.size(); ++s) {
        if (!fits(storages_[s], larger)) continue;
        storages_[s].free = false;
        return s;
      }
    }
    Variable var = make_variable("st" + std::to_string(storages_.size()), object_annotation());
    emit(var, make_op_call("memory.alloc_storage", {make_shape({bytes})}), {});
    storages_.push_back({var, bytes, {}, false, false});
    return storages_.size() - 1;
  }

  // A tensor of `annotation` in planned storage, bound to `var` (or a fresh variable).
  Variable allocate(const Annotation& annotation, Variable var, const std::string& hint) {
    const auto* tensor = as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) {
      throw_user("an output of a kernel has no known shape and dtype", "function body",
                 "Tensor(shape, dtype)", to_string(annotation));
    }
    size_t storage = take_storage(storage_bytes(*tensor->shape, *tensor->dtype));
    if (!var) {
      var = make_variable(hint, annotation);
      last_use_[var.get()] = last_use_[owner_];
    }
    look_at(var.get(), storage);
    emit(var,
         make_op_call("memory.alloc_tensor", {storages_[storage].var, make_shape(*tensor->shape)},
                      {{"dtype", *tensor->dtype}}),
         {});
    return var;
  }

  void plan(const Binding& binding) {
    owner_ = binding.var.get();
    if (!is_call_tir(binding.value) || binding.match_cast) {
      alias(owner_, binding.value);  // a view, a tuple, or a callee that may return its argument
      out_.bindings.push_back(binding);
      return;
    }
    const auto& call = *as<CallNode>(binding.value);
    const std::vector<Expr>& args = call_tir_args(call);
    const auto* inout = find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
    std::vector<Expr> outputs, results;
    bool single = call.annotations.size() == 1;
    for (size_t j = 0; j < call.annotations.size(); ++j) {
      int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
      if (source >= 0) {
        results.push_back(args.at(static_cast<size_t>(source)));
        alias(owner_, results.back());
        continue;
      }
      Variable tensor = allocate(call.annotations[j], single ? binding.var : nullptr,
                                 binding.var->name + "_" + std::to_string(j));
      outputs.push_back(tensor);
      results.push_back(tensor);
      if (!single) alias(owner_, tensor);
    }
    std::vector<Expr> dps = {call.args[0], make_tuple(args), make_tuple(outputs)};
    if (!call_tir_symbols(call).empty()) dps.push_back(make_shape(call_tir_symbols(call)));
    Variable done = make_variable("done", object_annotation());
    emit(done, make_op_call("call_tir_dps", std::move(dps)), binding.origin);
    if (!single) {
      emit(binding.var, make_tuple(results), {});
    } else if (outputs.empty()) {
      emit(binding.var, results[0], {});
    }
  }

  const Function& function_;
  const SeqNode& seq_;
  arith::Analyzer analyzer_;
  Block out_;
  std::map<const VarNode*, size_t> last_use_;
  size_t end_ = 0;
  std::vector<StorageState> storages_;
  std::map<const VarNode*, std::set<size_t>> storages_of_;
  const VarNode* owner_ = nullptr;
};

}  // namespace

Module plan_memory(const Module& module) {
  Module result = module;
  result.attrs["phase"] = std::string("plan");
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (source && !is_kernel(source)) result.functions[name] = Planner(*source).run();
  }
  return result;
}

}  // namespace tapml::passes
