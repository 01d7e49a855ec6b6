#include "passes/dead_code.h"

#include <set>

#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Values whose construction has no effect in any block.
bool only_is(const Expr& value) {
  return value->kind != relax::ExprKind::kCall && value->kind != relax::ExprKind::kIf &&
         value->kind != relax::ExprKind::kSeq;
}

// Walks the blocks backward: what the rest of the body uses is live. Outside dataflow blocks every
// call and if is kept, since it may have an effect.
class Remover {
 public:
  // `body` (a sequence, an if, a lambda or any other value) without unused bindings.
  Expr run(const Expr& body) {
    if (Expr mapped = map_bodies(body, [&](const Expr& inner) { return run(inner); }))
      return mapped;
    if (const auto* seq = as<SeqNode>(body)) return sequence(*seq);
    use(body);
    return body;
  }

 private:
  Expr sequence(const SeqNode& seq) {
    use(seq.result);
    std::vector<Block> blocks = seq.blocks;
    for (size_t b = blocks.size(); b-- > 0;) {
      std::vector<Binding> kept;
      for (size_t i = blocks[b].bindings.size(); i-- > 0;) {
        Binding binding = blocks[b].bindings[i];
        const bool may_go = blocks[b].dataflow || only_is(binding.value);
        // A match_cast is a check, so it is kept.
        if (may_go && !binding.match_cast && !alive_.contains(binding.var.get())) continue;
        binding.value = run(binding.value);
        kept.push_back(std::move(binding));
      }
      blocks[b].bindings.assign(kept.rbegin(), kept.rend());
    }
    std::erase_if(blocks, [](const Block& block) { return block.bindings.empty(); });
    return make_seq(std::move(blocks), seq.result);
  }

  void use(const Expr& expr) {
    visit(expr, [&](const Expr& e) {
      if (e->kind == relax::ExprKind::kVar) alive_.insert(static_cast<const VarNode*>(e.get()));
    });
  }

  std::set<const VarNode*> alive_;
};

bool is_private(const Function& function) { return function.facts.is_private; }

// Adds the graph-level functions and kernels that `name` refers to, transitively.
void reach(const Module& module, const std::string& name, std::set<std::string>& reached) {
  std::vector<std::string> pending{name};
  while (!pending.empty()) {
    std::string next = std::move(pending.back());
    pending.pop_back();
    const Function* function = as_relax_function(module.find(next));
    if (!reached.insert(next).second || !function || is_kernel(function)) continue;
    visit(function->body, [&](const Expr& e) {
      if (const auto* global = as<GlobalVarNode>(e)) pending.push_back(global->name);
    });
  }
}

}  // namespace

Module eliminate_dead_code(const Module& module) {
  Module cleaned = module;
  std::set<std::string> reached;
  for (const auto& [name, source] : graph_functions(module)) {
    cleaned.functions[name] = with_body(*source, Remover().run(source->body));
  }
  for (const auto& [name, function] : cleaned.functions) {
    const Function* source = as_relax_function(function.get());
    if (source && !is_kernel(source) && !is_private(*source)) reach(cleaned, name, reached);
  }
  Module result;
  result.facts = module.facts;
  result.attrs = module.attrs;
  for (const auto& [name, function] : cleaned.functions) {
    if (function->level == FunctionLevel::kRelax && reached.contains(name)) {
      result.functions[name] = function;
      if (!is_kernel(function.get())) continue;
      const std::string& implementation = function->facts.implementation;
      if (module.find(implementation)) {
        result.functions[implementation] = module.functions.at(implementation);
      }
    } else if (function->level == FunctionLevel::kTir && function->facts.spec.empty()) {
      result.functions[name] = function;
    }
  }
  return result;
}

}  // namespace tapml::passes
