#include "relax/tail_call.h"

#include "relax/subtype.h"

namespace tapml::relax {

const Binding* returned_binding(const SeqNode& seq) {
  for (auto block = seq.blocks.rbegin(); block != seq.blocks.rend(); ++block) {
    if (block->bindings.empty()) continue;
    const Binding& last = block->bindings.back();
    return seq.result == last.var && !last.match_cast ? &last : nullptr;
  }
  return nullptr;
}

bool is_tail_call(const Binding& binding, const Annotation& result) {
  const auto* call = as<CallNode>(binding.value);
  return call && (as<GlobalVarNode>(call->callee) || as<VarNode>(call->callee)) &&
         is_subtype(binding.var->annotation, result);
}

}  // namespace tapml::relax
