#include "passes/defuse.h"

#include "passes/fuse_ops.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/rewrite.h"
#include "relax/unify.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool computes(const Binding& binding) { return binding.value->kind == relax::ExprKind::kCall; }

size_t operators_in(const Function& spec) {
  size_t count = 0;
  visit_bindings(spec.body, [&](const Binding& binding, bool) { count += computes(binding); });
  return count;
}

class Splitter {
 public:
  Splitter(const Module& module, const KernelChoice& choice) : module_(module), choice_(choice) {}

  Module run() {
    Module result = module_;
    for (const auto& [name, source] : graph_functions(module_)) {
      result.functions[name] = with_body(
          *source, map_blocks(source->body, [&](const Block& block) { return split(block); }));
    }
    if (split_.empty()) return module_;
    for (const std::string& name : split_) {
      result.functions.erase(module_.find(name)->facts.implementation);
      result.functions.erase(name);
    }
    result.facts.fusion_policy = fusion_policy_of(module_) + "+defused";
    return legalize(result);
  }

 private:
  Block split(const Block& block) {
    Block result{.dataflow = block.dataflow, .bindings = {}};
    for (const Binding& binding : block.bindings) {
      if (!may_split(binding)) {
        result.bindings.push_back(binding);
      } else {
        put_operators(binding, block.dataflow, result.bindings);
      }
    }
    return result;
  }

  bool may_split(const Binding& binding) {
    if (binding.match_cast || called_operator(binding.value) != "call_tir") return false;
    const std::string& name = call_tir_callee(*as<CallNode>(binding.value));
    auto [known, is_new] = may_split_.try_emplace(name, false);
    if (is_new && is_kernel(module_.find(name))) {
      known->second = operators_in(kernel_spec(module_, name)) > 1 && choice_(name);
      if (known->second) split_.push_back(name);
    }
    return known->second;
  }

  void put_operators(const Binding& binding, bool dataflow, std::vector<Binding>& bindings) {
    const auto& call = *as<CallNode>(binding.value);
    const Function& spec = kernel_spec(module_, call_tir_callee(call));
    const std::vector<Expr>& args = call_tir_args(call);
    std::vector<Annotation> expected, given;
    ExprMap values;
    for (size_t i = 0; i < spec.params.size(); ++i) {
      expected.push_back(spec.params[i]->annotation);
      if (i < args.size()) {
        given.push_back(annotation_of(args[i]));
        values[spec.params[i].get()] = args[i];
      } else {
        given.push_back(shape_annotation(call_tir_symbols(call)));
      }
    }
    VarMap symbols;
    size_t wrong = 0;
    unify_all(expected, given, symbols, wrong);
    const Expr& made = body_of(spec).result;
    for (const Block& block : body_of(spec).blocks) {
      for (const Binding& inner : block.bindings) {
        const bool last = inner.var == made;
        Variable var = last ? binding.var
                            : make_variable(binding.var->name + "_part",
                                            substitute(inner.var->annotation, symbols), dataflow);
        bindings.push_back(
            {var, substitute_all(inner.value, values, symbols), nullptr, binding.origin});
        values[inner.var.get()] = var;
      }
    }
    if (made->kind == relax::ExprKind::kVar &&
        values.at(static_cast<const VarNode*>(made.get())) == binding.var) {
      return;
    }
    bindings.push_back(
        {binding.var, substitute_all(made, values, symbols), nullptr, binding.origin});
  }

  const Module& module_;
  const KernelChoice& choice_;
  std::map<std::string, bool> may_split_;
  std::vector<std::string> split_;
};

}  // namespace

Module defuse_kernels(const Module& module, const KernelChoice& choice) {
  return Splitter(module, choice).run();
}

Module defuse(const Module& module) {
  return defuse_kernels(module, [](const std::string&) { return true; });
}

}  // namespace tapml::passes
