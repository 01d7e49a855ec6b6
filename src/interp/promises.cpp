#include "interp/promises.h"

namespace tapml::interp {

void Promises::add(const relax::Annotation& annotation, const std::string& place,
                   const Scope& scope) {
  if (annotation->kind == relax::AnnotationKind::kObject) return;
  Promise promise{annotation, {}, place, scope.running, scope.function};
  std::vector<Var> vars;
  relax::collect_vars(annotation, vars);
  for (const Var& var : vars) {
    auto it = scope.symbols.find(var.get());
    if (it != scope.symbols.end()) promise.symbols.insert(*it);
  }
  add(std::move(promise));
}

void Promises::add(Promise promise) {
  for (const Promise& known : promises_) {
    if (known.annotation == promise.annotation && known.symbols == promise.symbols) return;
  }
  if (promises_.size() >= kMaxDepth) {
    throw_user("function calls are nested too deeply", promise.place,
               "at most " + std::to_string(kMaxDepth) + " different results in progress");
  }
  promises_.push_back(std::move(promise));
}

void Promises::add_all(Promises&& more) {
  for (Promise& one : more.promises_) add(std::move(one));
}

void Promises::keep(const Item& result, const ModuleSymbols& symbols) {
  for (size_t i = promises_.size(); i-- > 0;) {
    Promise& promise = promises_[i];
    const CheckedFunction checked{symbols, *promise.function, promise.name};
    AnnotationBinder binder(promise.symbols, &checked);
    binder.bind(promise.annotation, result, promise.place);
    binder.finish_known();
  }
}

}  // namespace tapml::interp
