#include "interp/last_uses.h"

#include "relax/visit.h"

namespace tapml::interp {

LastUses last_uses(const relax::SeqNode& body) {
  std::map<const relax::VarNode*, const relax::Binding*> last;  // null: the result
  const auto note = [&](const relax::Expr& expr, const relax::Binding* by) {
    relax::visit(expr, [&](const relax::Expr& e) {
      if (const auto* var = relax::as<relax::VarNode>(e)) last[var] = by;
    });
  };
  for (const relax::Block& block : body.blocks) {
    for (const relax::Binding& binding : block.bindings) {
      last[binding.var.get()] = &binding;
      note(binding.value, &binding);
    }
  }
  note(body.result, nullptr);
  LastUses uses;
  for (const auto& [var, binding] : last) {
    if (binding) uses[binding].push_back(var);
  }
  return uses;
}

}  // namespace tapml::interp
