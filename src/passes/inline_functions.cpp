#include "passes/inline_functions.h"

#include <algorithm>
#include <map>

#include "analysis/call_order.h"
#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"
#include "passes/kernel.h"
#include "relax/bounds.h"
#include "relax/check_location.h"
#include "relax/rewrite.h"
#include "relax/unify.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool is_inline(const Function* function) {
  return function && !is_kernel(function) && function->facts.is_inline;
}

class Inliner {
 public:
  explicit Inliner(const Module& module) : module_(module), calls_(analysis::call_order(module)) {}

  Module run() {
    Module result = module_;
    for (const std::string& name : calls_.functions) {
      const Function& source = *as_relax_function(module_.find(name));
      if (!build::is_pattern(&source)) result.functions[name] = inlined(name, source);
    }
    return result;
  }

 private:
  // Function `name` with its calls inlined, its callees first.
  FunctionRef inlined(const std::string& name, const Function& source) {
    auto copy = std::make_shared<Function>(source);
    added_ = 0;
    copy->body = map_blocks(source.body, [&](const Block& block) { return inline_calls(block); });
    if (is_inline(&source)) {
      size_t bindings = 0;
      visit_bindings(copy->body, [&](const Binding&, bool) { ++bindings; });
      done_[name] = {copy, bindings};
    }
    return copy;
  }

  Block inline_calls(const Block& block) {
    Block own{.dataflow = block.dataflow, .bindings = {}};
    for (const Binding& binding : block.bindings) {
      const auto* call = as<CallNode>(binding.value);
      const auto* global = call && !binding.match_cast ? as<GlobalVarNode>(call->callee) : nullptr;
      const Function* callee = global ? as_relax_function(module_.find(global->name)) : nullptr;
      const auto done = is_inline(callee) && !calls_.recursive.contains(global->name)
                            ? done_.find(global->name)
                            : done_.end();
      if (done == done_.end() || !may_add(done->second.bindings) ||
          !put(*done->second.function, global->name, *call, binding, own)) {
        own.bindings.push_back(binding);
        continue;
      }
      added_ += done->second.bindings;
      added_in_all_ += done->second.bindings;
    }
    return own;
  }

  bool may_add(size_t bindings) const {
    return added_ + bindings <= kMostInlined && added_in_all_ + bindings <= kMostInlinedInAll;
  }

  // Returns false and changes nothing if the call has to stay.
  bool put(const Function& callee, const std::string& name, const CallNode& call,
           const Binding& binding, Block& own) {
    const auto& blocks = body_of(callee).blocks;
    const bool is_dataflow =
        std::all_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.dataflow; });
    // Its bounds apply to its own variables alone.
    if ((own.dataflow && !is_dataflow) || !callee.facts.bounds.empty()) return false;
    std::vector<Annotation> params, args;
    for (const Variable& param : callee.params) params.push_back(param->annotation);
    for (const Expr& arg : call.args) args.push_back(build::annotation_of_operand(arg, module_));
    VarMap symbols;
    size_t wrong = 0;
    if (params.size() != args.size() || !unify_all(params, args, symbols, wrong)) return false;
    for (const Var& var : signature_vars(callee)) {
      if (!symbols.contains(var.get())) return false;
    }
    ExprMap values;
    for (size_t i = 0; i < params.size(); ++i) {
      Annotation expected = build::simplified(substitute(params[i], symbols));
      const std::string& param = callee.params[i]->name;
      values[callee.params[i].get()] =
          cast(call.args[i], args[i], expected, param + "_of_" + name,
               {.what = "parameter " + param, .function = name}, binding, own);
      Expr& value = values[callee.params[i].get()];
      if (callee.pure || !as<ConstantNode>(value)) continue;
      // Storage that the callee may write is passed as a variable.
      Variable var = make_variable(callee.params[i]->name + "_of_" + name, expected, own.dataflow);
      own.bindings.push_back({var, value, nullptr, binding.origin});
      value = var;
    }
    keep_bounds(callee, name, symbols, binding, own);
    Expr body = refresh(callee.body, values, symbols);
    const auto& seq = *as<SeqNode>(body);
    ExprMap inner;
    for (const Block& block : seq.blocks) {
      for (Binding one : block.bindings) {
        one.value = substitute(one.value, inner);
        one.origin = merge_origins(one.origin, binding.origin);
        if (one.check.empty()) one.check = check_note(one);
        if (one.check.function.empty()) one.check.function = name;
        if (one.var->dataflow != own.dataflow) {
          Variable var = make_variable(one.var->name, one.var->annotation, own.dataflow);
          inner[one.var.get()] = var;
          one.var = var;
        }
        own.bindings.push_back(std::move(one));
      }
    }
    Expr value = substitute(seq.result, inner);
    Annotation promised = build::simplified(substitute(callee.result, symbols));
    value = cast(value, build::annotation_of_operand(value, module_), promised, "result_of_" + name,
                 {.what = "result", .function = name}, binding, own);
    own.bindings.push_back({binding.var, value, nullptr, binding.origin, binding.check});
    return true;
  }

  // A bound of the module is checked as a call would: by a cast of the value to a new variable of
  // that name.
  void keep_bounds(const Function& callee, const std::string& name, const VarMap& symbols,
                   const Binding& binding, Block& own) const {
    for (const Var& var : signature_vars(callee)) {
      const std::optional<int64_t> most = bound_of(var->name, module_, callee);
      const PrimExpr& value = symbols.at(var.get());
      if (!most || keeps_bound(value, var->name, *most)) continue;
      const CheckNote note{.what = var->name + " in the call", .function = name};
      const Annotation bounded = prim_annotation(DType::kI64, make_var(var->name));
      own.bindings.push_back({make_variable(var->name + "_of_" + name, bounded, own.dataflow),
                              make_prim_value(value), bounded, binding.origin, note});
    }
  }

  // `value`, or a variable of annotation `expected` that a match_cast binds to it.
  static Expr cast(const Expr& value, const Annotation& found, const Annotation& expected,
                   const std::string& name, const CheckNote& note, const Binding& binding,
                   Block& own) {
    if (build::surely_fits(found, expected)) return value;
    Variable var = make_variable(name, expected, own.dataflow);
    own.bindings.push_back({var, value, expected, binding.origin, note});
    return var;
  }

  const Module& module_;
  const analysis::CallOrder calls_;
  struct Inlined {
    FunctionRef function;
    size_t bindings = 0;
  };
  std::map<std::string, Inlined> done_;  // functions to inline
  size_t added_ = 0, added_in_all_ = 0;  // bindings added to the current function, and to all
};

}  // namespace

Module inline_functions(const Module& module) { return Inliner(module).run(); }

}  // namespace tapml::passes
