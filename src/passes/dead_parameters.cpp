#include "passes/dead_parameters.h"

#include <algorithm>
#include <functional>
#include <set>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/bounds.h"
#include "relax/check_location.h"
#include "relax/kernel_call.h"
#include "relax/rewrite.h"
#include "relax/symbol_ranges.h"
#include "relax/unify.h"
#include "relax/visit.h"
#include "tir/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

using Dead = std::vector<bool>;  // by parameter

// The function of the module that `value` calls by name; empty for any other value.
const std::string& called_function(const Expr& value) {
  static const std::string kNone;
  const auto* call = as<CallNode>(value);
  const auto* global = call ? as<GlobalVarNode>(call->callee) : nullptr;
  return global ? global->name : kNone;
}

// Calls f on every binding of the body, those of lambdas included.
void visit_all_bindings(const Expr& body, const std::function<void(const Binding&)>& f) {
  visit_bindings(body, [&](const Binding& binding, bool) {
    f(binding);
    if (const auto* lambda = as<FunctionNode>(binding.value)) {
      visit_all_bindings(lambda->function->body, f);
    }
  });
}

// ---- functions

class Functions {
 public:
  explicit Functions(const Module& module) : module_(module) {
    for (const auto& [name, source] : graph_functions(module)) {
      if (source->facts.is_private) {
        dead_[name] = Dead(source->params.size(), true);
      }
    }
  }

  Module run() {
    for (const auto& [name, source] : graph_functions(module_)) scan(*source);
    keep_what_is_read();
    // Code that is kept may need a symbolic variable that only a dead parameter gives. Calls then
    // pass it, which makes the symbols of the arguments needed.
    for (auto& [name, dead] : dead_) keep_symbols(name, dead);
    keep_what_is_read();
    std::erase_if(dead_, [](const auto& one) {
      return std::none_of(one.second.begin(), one.second.end(), [](bool d) { return d; });
    });
    if (dead_.empty()) return module_;
    Module result = module_;
    for (const auto& [name, source] : graph_functions(module_)) {
      auto copy = with_body(*source, map_blocks(source->body, [&](const Block& block) {
        return without_arguments(block);
      }));
      if (auto it = dead_.find(name); it != dead_.end()) {
        auto shorter = std::make_shared<Function>(*copy);
        shorter->params = without(source->params, it->second);
        copy = shorter;
      }
      result.functions[name] = copy;
    }
    return result;
  }

 private:
  // A parameter that is only passed on as `position` of `callee` is read if that one is read.
  struct Pass {
    const VarNode* var;
    std::string callee;
    size_t position;
  };

  template <class T>
  static std::vector<T> without(const std::vector<T>& all, const Dead& dead) {
    std::vector<T> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i >= dead.size() || !dead[i]) kept.push_back(all[i]);
    }
    return kept;
  }

  void scan(const Function& function) {
    std::set<const VarNode*> of_lambdas;
    visit_all_bindings(function.body, [&](const Binding& binding) {
      if (const auto* lambda = as<FunctionNode>(binding.value)) {
        for (const Variable& param : lambda->function->params) of_lambdas.insert(param.get());
        return;  // the visitor reaches its bindings too
      }
      const std::string& callee = called_function(binding.value);
      if (callee.empty() || !dead_.contains(callee) || binding.match_cast) {
        return read(binding.value);
      }
      const auto& call = *as<CallNode>(binding.value);
      const Function& target = *as_relax_function(module_.find(callee));
      const bool fits = arguments_fit(target, call);
      for (size_t i = 0; i < call.args.size(); ++i) {
        if (const auto* var = as<VarNode>(call.args[i]); var && i < target.params.size()) {
          passes_.push_back({var, callee, i});
        } else {
          read(call.args[i]);
        }
        if (i >= target.params.size()) continue;
        // A lambda has the parameters that its callers pass, and a lifted one passes all of them
        // on.
        const auto* own = as<VarNode>(call.args[i]);
        const bool from_lambda = own && of_lambdas.contains(own);
        if (!fits || from_lambda) dead_[callee][i] = false;
        if (from_lambda) unchecked_[callee].insert(i);
      }
    });
    read_results(function.body);
  }

  // The visitor reaches bindings of nested bodies, but not their results.
  void read_results(const Expr& body) {
    visit(body, [&](const Expr& e) {
      if (const auto* seq = as<SeqNode>(e)) read(seq->result);
    });
  }

  void read(const Expr& expr) {
    switch (expr->kind) {
      case relax::ExprKind::kSeq:
        return;
      case relax::ExprKind::kIf:
        return read(as<IfNode>(expr)->condition);
      default:
        break;
    }
    // A lambda forwards its arguments: its captures are read, and its callee gets all parameters.
    visit(expr, [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e)) read_.insert(var);
      // A function used as a value: its callers pass everything.
      if (const auto* global = as<GlobalVarNode>(e)) dead_.erase(global->name);
    });
  }

  bool arguments_fit(const Function& target, const CallNode& call) const {
    std::vector<Annotation> expected, given;
    for (const Variable& param : target.params) expected.push_back(param->annotation);
    for (const Expr& arg : call.args) given.push_back(build::annotation_of_operand(arg, module_));
    VarMap symbols;
    size_t wrong = 0;
    if (expected.size() != given.size() || !unify_all(expected, given, symbols, wrong))
      return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Annotation fitted = build::simplified(substitute(expected[i], symbols));
      if (!build::surely_fits(given[i], fitted)) return false;
    }
    return true;
  }

  void keep_what_is_read() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [name, dead] : dead_) {
        const Function& function = *as_relax_function(module_.find(name));
        for (size_t i = 0; i < dead.size(); ++i) {
          if (!dead[i] || !read_.contains(function.params[i].get())) continue;
          dead[i] = false;
          changed = true;
        }
      }
      for (const Pass& pass : passes_) {
        auto it = dead_.find(pass.callee);
        const bool reads = it == dead_.end() || !it->second[pass.position];
        if (reads) changed |= read_.insert(pass.var).second;
      }
    }
  }

  // Bounds are checked where parameters give the variables their values.
  void keep_symbols(const std::string& name, Dead& dead) {
    const Function& function = *as_relax_function(module_.find(name));
    const std::set<size_t>& unchecked = unchecked_[name];
    std::vector<Var> needed;
    for (const Var& var : signature_vars(function)) {
      if (bound_of(var->name, module_, function)) needed.push_back(var);
    }
    auto need = [&](const Annotation& annotation) { collect_vars(annotation, needed); };
    need(function.result);
    for (size_t i = 0; i < dead.size(); ++i) {
      if (!dead[i]) need(function.params[i]->annotation);
    }
    visit_all_bindings(function.body, [&](const Binding& binding) {
      need(binding.var->annotation);
      need(binding.match_cast);
      if (const auto* lambda = as<FunctionNode>(binding.value)) {
        for (const Variable& param : lambda->function->params) need(param->annotation);
        need(lambda->function->result);
      }
    });
    // Includes calls that are returned without a binding.
    visit(function.body, [&](const Expr& e) {
      if (const auto* shape = as<ShapeNode>(e)) {
        for (const PrimExpr& dim : shape->dims) tapml::collect_vars(dim, needed);
      }
      if (const auto* prim = as<PrimValueNode>(e)) tapml::collect_vars(prim->value, needed);
      if (const auto* call = as<CallNode>(e)) {
        for (const Annotation& annotation : call->annotations) need(annotation);
      }
    });
    std::set<const tapml::ExprNode*> wanted;
    for (const Var& var : needed) wanted.insert(var.get());
    // A parameter may be removed if the remaining ones give all of its variables that are needed.
    std::vector<Annotation> kept;
    Function remaining;
    const auto keep = [&](size_t i) {
      kept.push_back(function.params[i]->annotation);
      remaining.params.push_back(function.params[i]);
    };
    for (size_t i = 0; i < dead.size(); ++i) {
      if (!dead[i] && !unchecked.contains(i)) keep(i);
    }
    // A variable that a dimension is solved for is a size; with its parameter it may be a host
    // scalar that is negative.
    const auto least = least_values(annotations_of(function.params));
    const auto becomes_size = [&](const Var& var) {
      const auto sources = symbol_sources(remaining);
      const auto source = sources.find(var.get());
      const auto lowest = least.find(var.get());
      const bool may_be_negative = lowest == least.end() || lowest->second < 0;
      return may_be_negative && source != sources.end() && !source->second.expression.empty();
    };
    for (size_t i = 0; i < dead.size(); ++i) {
      if (!dead[i]) continue;
      std::vector<Var> own;
      collect_vars(function.params[i]->annotation, own);
      VarMap solved;
      size_t wrong = 0;
      unify_all(kept, kept, solved, wrong);
      const bool gives = std::any_of(own.begin(), own.end(), [&](const Var& var) {
        return wanted.contains(var.get()) && (!solved.contains(var.get()) || becomes_size(var));
      });
      if (!gives) continue;
      dead[i] = false;
      keep(i);
      for (const Var& var : own) wanted.insert(var.get());
      i = static_cast<size_t>(-1);  // it may need variables of another parameter
    }
  }

  Block without_arguments(const Block& block) const {
    Block result = block;
    for (Binding& binding : result.bindings) {
      auto it = dead_.find(called_function(binding.value));
      if (it == dead_.end()) continue;
      const auto& call = *as<CallNode>(binding.value);
      binding.value =
          make_call(call.callee, without(call.args, it->second), call.attrs, call.annotations);
    }
    return result;
  }

  const Module& module_;
  std::map<std::string, Dead> dead_;
  // Parameters of a lambda are passed by its callers and compared with the other parameters.
  std::map<std::string, std::set<size_t>> unchecked_;
  std::set<const VarNode*> read_;
  std::vector<Pass> passes_;
};

// ---- kernels

class Kernels {
 public:
  explicit Kernels(Module module) : module_(std::move(module)), result_(module_) {}

  Module run() {
    for (const auto& [name, source] : graph_functions(module_)) {
      Expr body = map_blocks(source->body, [&](const Block& block) {
        Block changed = block;
        for (Binding& binding : changed.bindings) {
          if (binding.match_cast || called_operator(binding.value) != "call_tir") continue;
          binding.value = shorter_call(*as<CallNode>(binding.value), binding.value);
        }
        return changed;
      });
      result_.functions[name] = with_body(*source, std::move(body));
    }
    bool any = false;
    for (const auto& [name, shorter] : shorter_) {
      if (shorter.name.empty()) continue;
      any = true;
      result_.functions.erase(module_.find(name)->facts.implementation);
      result_.functions.erase(name);
    }
    return any ? result_ : module_;
  }

 private:
  struct Shorter {
    std::string name;          // empty: the kernel is kept
    Dead dead;                 // by tensor
    std::vector<Var> symbols;  // passed as a shape, over the specification
  };

  const Shorter& shorter(const std::string& name) {
    auto [it, is_new] = shorter_.try_emplace(name);
    if (!is_new || !is_kernel(module_.find(name))) return it->second;
    const Function& spec = kernel_spec(module_, name);
    const tir::PrimFunc& loops = kernel_implementation(module_, name);
    if (!spec.facts.inout_indices.empty()) return it->second;
    std::set<const VarNode*> read;
    visit(spec.body, [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e)) read.insert(var);
    });
    auto loaded = tir::loaded_buffers(loops.body);
    Dead dead;
    std::vector<Variable> params;
    std::vector<tir::Param> buffers;
    bool any = false;
    for (size_t i = 0; i < spec.params.size() && as_tensor(spec.params[i]->annotation); ++i) {
      const tir::Param& buffer = loops.params[i];
      dead.push_back(!read.contains(spec.params[i].get()) && buffer.mode == AccessMode::kIn &&
                     !loaded.contains(buffer.buffer.get()));
      any |= dead.back();
      if (dead.back()) continue;
      params.push_back(spec.params[i]);
      buffers.push_back(buffer);
    }
    if (!any) return it->second;
    for (size_t i = dead.size(); i < loops.params.size(); ++i) buffers.push_back(loops.params[i]);
    tir::PrimFuncRef implementation = tir::make_prim_func(buffers, loops.body);
    if (loops.facts.written) implementation = mark_written(*implementation);
    // Scalars that no remaining tensor gives are passed as a shape.
    VarMap to_spec;
    for (size_t i = 0; i < loops.params.size() && i < spec.params.size(); ++i) {
      const auto* tensor = as_tensor(spec.params[i]->annotation);
      if (!tensor) break;
      for (size_t d = 0; d < tensor->shape->size(); ++d) {
        const PrimExpr& dim = loops.params[i].buffer->shape[d];
        if (dim.is_var()) to_spec.try_emplace(dim.get(), (*tensor->shape)[d]);
      }
    }
    const auto* extra =
        dead.size() < spec.params.size() ? as_shape(spec.params[dead.size()]->annotation) : nullptr;
    const std::vector<Var> old = underived_scalars(loops);
    for (size_t i = 0; extra && i < old.size(); ++i) to_spec[old[i].get()] = (*extra->dims)[i];
    Dims symbols;
    for (const Var& var : underived_scalars(*implementation)) {
      symbols.push_back(to_spec.at(var.get()));
    }
    if (!symbols.empty()) params.push_back(make_variable("s", shape_annotation(symbols)));
    if (!gives_symbols(params, spec)) return it->second;
    FunctionRef shorter_spec = make_function(params, spec.body, spec.result);
    it->second = {add_kernel(result_, shorter_spec, implementation), dead,
                  std::vector<Var>(symbols.begin(), symbols.end())};
    return it->second;
  }

  // Whether `params` contain every symbolic variable that the specification uses.
  static bool gives_symbols(const std::vector<Variable>& params, const Function& spec) {
    std::vector<Var> given, used;
    for (const Variable& param : params) collect_vars(param->annotation, given);
    collect_vars(spec.result, used);
    visit_bindings(spec.body, [&](const Binding& binding, bool) {
      collect_vars(binding.var->annotation, used);
    });
    return std::all_of(used.begin(), used.end(), [&](const Var& var) {
      return std::any_of(given.begin(), given.end(), [&](const Var& g) { return g.same_as(var); });
    });
  }

  Expr shorter_call(const CallNode& call, const Expr& unchanged) {
    const Shorter& to = shorter(call_tir_callee(call));
    if (to.name.empty()) return unchanged;
    const Function& spec = kernel_spec(module_, call_tir_callee(call));
    const std::vector<Expr>& tensors = call_tir_args(call);
    VarMap symbols;
    std::vector<Expr> kept;
    for (size_t i = 0; i < spec.params.size(); ++i) {
      unify(
          spec.params[i]->annotation,
          i < tensors.size() ? annotation_of(tensors[i]) : shape_annotation(call_tir_symbols(call)),
          symbols);
      if (i < tensors.size() && !to.dead[i]) kept.push_back(tensors[i]);
    }
    std::vector<Expr> args = {make_global(to.name), make_tuple(kept)};
    if (!to.symbols.empty()) {
      Dims dims;
      for (const Var& var : to.symbols) dims.push_back(tapml::substitute(var, symbols));
      args.push_back(make_shape(std::move(dims)));
    }
    return make_op_call("call_tir", std::move(args), call.attrs, call.annotations);
  }

  const Module module_;
  Module result_;
  std::map<std::string, Shorter> shorter_;
};

}  // namespace

Module remove_dead_parameters(const Module& module) {
  return Kernels(Functions(module).run()).run();
}

}  // namespace tapml::passes
