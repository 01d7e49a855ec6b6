#include "interp/scope_check.h"

#include "relax/kernel_call.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

void check(const ModuleSymbols& symbols, const Annotation& annotation, const Item& item,
           const std::string& place, Scope& scope) {
  const CheckedFunction checked{symbols, *scope.running, scope.function};
  AnnotationBinder binder(scope.symbols, &checked);
  binder.bind(annotation, item, place);
  binder.finish_known();
}

void check_stated(const ModuleSymbols& symbols, const CallNode& node, const Item& result,
                  const std::string& place, Scope& scope) {
  if (node.annotations.empty()) return;
  check(symbols,
        node.annotations.size() == 1 ? node.annotations[0] : tuple_annotation(node.annotations),
        result, place, scope);
}

void check_arguments(const ModuleSymbols& symbols, const tir::PrimFunc& program,
                     const CallNode& node, const std::vector<Item>& args, Scope& scope) {
  std::vector<Annotation> given;
  for (const Expr& arg : call_tir_args(node)) {
    given.push_back(annotation_of(arg));
    const auto* tensor = as_tensor(given.back());
    if (!tensor || !tensor->shape) return;
  }
  // A call that does not fit the signature is rejected later.
  auto expected = guard([&] {
    return argument_annotations(program, scalar_values(program, given, call_tir_symbols(node)));
  });
  if (!expected || expected->size() != args.size()) return;
  size_t next = 0;
  for (const tir::Param& param : program.params) {
    if (param.mode != AccessMode::kIn && param.mode != AccessMode::kInOut) continue;
    Binding binding = *scope.binding;
    binding.check = argument_note(param.buffer->name, call_tir_callee(node), binding);
    check(symbols, (*expected)[next], args[next], binding_location(binding, scope.function), scope);
    ++next;
  }
}

std::vector<SymbolValue> sources_of_negative(const ModuleSymbols& symbols,
                                             const Annotation& annotation, const Scope& scope) {
  std::vector<SymbolValue> sources;
  if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) {
      sources = sources_of_negative(symbols, field, scope);
      if (!sources.empty()) break;
    }
  }
  const auto* tensor = as_tensor(annotation);
  for (size_t d = 0; tensor && tensor->shape && d < tensor->shape->size(); ++d) {
    const PrimExpr& dim = (*tensor->shape)[d];
    const std::optional<int64_t> value = arith::evaluate(dim, scope.symbols);
    if (!value || *value >= 0) continue;
    for (const Var& var : free_vars(dim)) {
      sources.push_back({symbols.source(var, scope.function), scope.symbols.at(var.get())});
    }
    break;
  }
  return sources;
}

}  // namespace tapml::interp
