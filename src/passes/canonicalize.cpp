#include "passes/canonicalize.h"

#include <set>

#include "passes/a_normal_form.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"
#include "relax/rewrite.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class Canonical final : public ForwardRewrite {
 protected:
  Expr rewrite(const Binding& binding, bool) override {
    if (binding.match_cast) return binding.value;
    if (const auto* item = as<TupleGetItemNode>(binding.value)) {
      return tuple_field(value_of(item->tuple), item->index);
    }
    return binding.value->kind == relax::ExprKind::kVar ? binding.value : nullptr;
  }
};

// Values whose construction has no effect.
bool only_is(const Binding& binding) {
  switch (binding.value->kind) {
    case relax::ExprKind::kCall:
    case relax::ExprKind::kIf:
    case relax::ExprKind::kSeq:
      return false;
    default:
      return !binding.match_cast;  // a match_cast checks
  }
}

// Walks backward and removes what nothing downstream uses.
class UnusedCasts {
 public:
  Expr run(const Expr& body) {
    if (const auto* seq = as<SeqNode>(body)) return sequence(*seq);
    if (Expr mapped = map_bodies(body, [&](const Expr& inner) { return run(inner); }))
      return mapped;
    visit(body, [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e)) used_.insert(var);
    });
    return body;
  }

 private:
  Expr sequence(const SeqNode& seq) {
    Expr result = run(seq.result);
    std::vector<Block> blocks = seq.blocks;
    for (size_t b = blocks.size(); b-- > 0;) {
      std::vector<Binding> kept;
      ExprMap inner;
      std::vector<bool> outside;  // whether anything after the block uses a binding's variable
      for (const Binding& binding : blocks[b].bindings) {
        outside.push_back(used_.contains(binding.var.get()));
      }
      for (size_t i = blocks[b].bindings.size(); i-- > 0;) {
        Binding binding = blocks[b].bindings[i];
        const bool is_used = used_.contains(binding.var.get());
        if (!is_used && only_is(binding)) continue;
        binding.value = run(binding.value);
        if (blocks[b].dataflow && !binding.var->dataflow && !outside[i]) {
          Variable own = make_variable(binding.var->name, binding.var->annotation, true);
          inner[binding.var.get()] = own;
          binding.var = own;
        }
        kept.push_back(std::move(binding));
      }
      if (!inner.empty()) {
        for (Binding& binding : kept) binding.value = substitute(binding.value, inner);
      }
      blocks[b].bindings.assign(kept.rbegin(), kept.rend());
    }
    std::erase_if(blocks, [](const Block& block) { return block.bindings.empty(); });
    return make_seq(std::move(blocks), std::move(result));
  }

  std::set<const VarNode*> used_;
};

// Merges blocks first, so that a use in a merged neighbor counts as inside.
Expr merge_blocks(const Expr& body) {
  if (Expr mapped = map_bodies(body, merge_blocks)) return mapped;
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::vector<Block> merged;
  for (const Block& block : seq->blocks) {
    if (block.bindings.empty()) continue;
    if (merged.empty() || merged.back().dataflow != block.dataflow) {
      merged.push_back({block.dataflow, {}});
    }
    for (Binding binding : block.bindings) {
      binding.value = merge_blocks(binding.value);
      merged.back().bindings.push_back(std::move(binding));
    }
  }
  return make_seq(std::move(merged), seq->result);
}

}  // namespace

Expr canonical(const Expr& body) { return UnusedCasts().run(merge_blocks(Canonical().run(body))); }

Module canonicalize(const Module& module) {
  Module result = a_normal_form(module);
  for (const auto& [name, source] : graph_functions(result)) {
    result.functions[name] = with_body(*source, canonical(source->body));
  }
  return result;
}

}  // namespace tapml::passes
