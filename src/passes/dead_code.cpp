#include "passes/dead_code.h"

#include <set>

#include "passes/kernel.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Backwards over the blocks: what the rest of the body uses is alive. Outside dataflow blocks
// every binding stays, since it may have an effect.
Expr remove_unused(const Expr& body) {
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::set<const VarNode*> alive;
  auto use = [&](const Expr& expr) {
    visit(expr, [&](const Expr& e) {
      if (e->kind == relax::ExprKind::kVar) alive.insert(static_cast<const VarNode*>(e.get()));
    });
  };
  use(seq->result);
  std::vector<Block> blocks = seq->blocks;
  for (size_t b = blocks.size(); b-- > 0;) {
    std::vector<Binding> kept;
    for (size_t i = blocks[b].bindings.size(); i-- > 0;) {
      const Binding& binding = blocks[b].bindings[i];
      // A match_cast checks: it stays.
      if (blocks[b].dataflow && !binding.match_cast && !alive.contains(binding.var.get())) continue;
      use(binding.value);
      kept.push_back(binding);
    }
    blocks[b].bindings.assign(kept.rbegin(), kept.rend());
  }
  std::erase_if(blocks, [](const Block& block) { return block.bindings.empty(); });
  return make_seq(std::move(blocks), seq->result);
}

}  // namespace

Module eliminate_dead_code(const Module& module) {
  Module result;
  result.attrs = module.attrs;
  std::set<std::string> called;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source)) continue;
    auto copy = std::make_shared<Function>(*source);
    copy->body = remove_unused(source->body);
    visit(copy->body, [&](const Expr& e) {
      if (const auto* global = as<GlobalVarNode>(e)) called.insert(global->name);
    });
    result.functions[name] = copy;
  }
  for (const auto& [name, function] : module.functions) {
    if (is_kernel(function.get())) {
      if (!called.contains(name)) continue;
      result.functions[name] = function;
      const auto* implementation = find_attr<std::string>(function->attrs, kImplementationAttr);
      if (implementation && module.find(*implementation)) {
        result.functions[*implementation] = module.functions.at(*implementation);
      }
    } else if (function->level == FunctionLevel::kTir && !function->attrs.contains(kSpecAttr)) {
      result.functions[name] = function;
    }
  }
  return result;
}

}  // namespace tapml::passes
