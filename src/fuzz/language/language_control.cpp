#include "build/annotations.h"
#include "build/block_builder.h"
#include "fuzz/language/language.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

bool LanguageGenerator::call_function(Scope& scope) {
  if (functions_.empty()) return false;
  auto it = functions_.begin();
  std::advance(it, below(functions_.size()));
  const Type type = it->second;
  if (!type.pure && (scope.pure || scope.dataflow)) return false;
  std::vector<Expr> args;
  for (size_t i = 0; i + 1 < type.fields.size(); ++i) {
    args.push_back(value_of(type.fields[i], scope));
    if (!args.back()) return false;
  }
  Expr callee = relax::make_global(it->first);
  if (chance(0.3)) {  // through a variable
    callee = bind(scope, callee, "f");
    keep(scope, callee, type);
  }
  Variable result = bind(scope, relax::make_call(callee, args), "call");
  keep(scope, result, type.fields.back());
  return true;
}

bool LanguageGenerator::call_value(Scope& scope) {
  std::vector<Known> callable;
  for (const Known& known : scope.values) {
    if (known.type && known.type->kind == Kind::kFunction) callable.push_back(known);
  }
  if (callable.empty()) return false;
  const Known known = op::pick(callable, rng_);
  if (!known.type->pure && (scope.pure || scope.dataflow)) return false;
  const auto* var = relax::as<relax::VarNode>(known.value);
  if (!var || !relax::as_callable(var->annotation)) return false;
  std::vector<Expr> args;
  for (size_t i = 0; i + 1 < known.type->fields.size(); ++i) {
    args.push_back(value_of(known.type->fields[i], scope));
    if (!args.back()) return false;
  }
  Variable result = bind(scope, relax::make_call(known.value, args), "call");
  keep(scope, result, known.type->fields.back());
  return true;
}

bool LanguageGenerator::make_tuple(Scope& scope) {
  std::vector<Expr> fields;
  Type type{Kind::kTuple, DType::kF32, {}, {}, true};
  for (uint32_t i = below(4); i > 0; --i) {
    if (scope.values.empty()) return false;
    const Known& known = op::pick(scope.values, rng_);
    if (!known.type) return false;
    fields.push_back(known.value);
    type.fields.push_back(*known.type);
  }
  keep(scope, bind(scope, relax::make_tuple(fields), "t"), type);
  return true;
}

bool LanguageGenerator::take_field(Scope& scope) {
  for (size_t i = scope.values.size(); i-- > 0;) {
    const Known known = scope.values[i];
    if (!known.type || known.type->kind != Kind::kTuple || known.type->fields.empty()) continue;
    if (chance(0.4)) continue;
    const auto* var = relax::as<relax::VarNode>(known.value);
    if (!var || !relax::as_tuple(var->annotation)) continue;
    const size_t at = below(known.type->fields.size());
    Variable field = bind(scope, relax::make_get_item(known.value, static_cast<int>(at)), "field");
    keep(scope, field, known.type->fields[at]);
    return true;
  }
  return false;
}

// Casts a value to its type, stated in another way or less precisely.
bool LanguageGenerator::cast(Scope& scope) {
  if (scope.values.empty()) return false;
  const Known known = op::pick(scope.values, rng_);
  const auto* var = relax::as<relax::VarNode>(known.value);
  if (!var || !known.type) return false;
  if (known.type->kind == Kind::kFunction) return false;
  Annotation annotation = loosely(*known.type, scope);
  keep(scope, bind(scope, known.value, "cast", annotation), known.type);
  return true;
}

bool LanguageGenerator::branch(Scope& scope, int depth) {
  if (depth <= 0 || scope.dataflow) return false;
  Type type;
  if (!scope.values.empty() && chance(0.7)) {
    const Known& known = op::pick(scope.values, rng_);
    if (!known.type) return false;
    type = *known.type;
  } else {
    type = random_type(1, false);
  }
  auto node = std::make_shared<relax::IfNode>();
  node->condition = condition(scope);
  for (Expr* side : {&node->then_branch, &node->else_branch}) {
    Scope own = inner(scope);
    for (uint32_t i = below(4); i > 0; --i) grow(own, depth - 1);
    if (own.dataflow) toggle_dataflow(own);
    Expr result = value_of(type, own);
    if (!result) return false;
    *side = close(own, result);
  }
  keep(scope, bind(scope, node, "joined"), type);
  return true;
}

relax::FunctionRef LanguageGenerator::function(const std::vector<Type>& params,
                                               const std::optional<Type>& result, Scope scope,
                                               int size, int depth, Type& type,
                                               std::vector<interp::Value>* arguments) {
  std::vector<Variable> variables;
  scope.params = &variables;
  scope.arguments = arguments;
  type.kind = Kind::kFunction;
  type.fields.clear();
  type.pure = scope.pure;
  for (const Type& param : params) {
    Annotation annotation = loosely(param, scope);
    give(scope, relax::make_variable(fresh("p"), annotation), param);
  }
  if (chance(0.25)) toggle_dataflow(scope);
  for (int i = 0; i < size; ++i) grow(scope, depth);
  if (scope.dataflow) toggle_dataflow(scope);
  std::vector<Expr> results;
  Type given{Kind::kTuple, DType::kF32, {}, {}, true};
  if (!result) {
    for (const Known& known : scope.values) {
      // Values worth comparing: created here, and not a function of unknown use.
      if (!chance(arguments ? 0.5 : 0.2) || results.size() > 8 || !known.type) continue;
      results.push_back(known.value);
      given.fields.push_back(*known.type);
    }
    if (results.size() == 1) given = Type(given.fields[0]);
  }
  Expr value = result ? value_of(*result, scope)
                      : (results.size() == 1 ? results[0] : relax::make_tuple(results));
  scope.growable = false;
  if (!value) return nullptr;
  if (result) given = *result;
  // Parameters that were added during growth belong to its type.
  for (const Variable& variable : variables) {
    for (const Known& known : scope.values) {
      if (known.value.get() == variable.get()) {
        type.fields.push_back(*known.type);
        break;
      }
    }
  }
  type.fields.push_back(given);
  build::SymbolSet visible;
  std::vector<Var> vars;
  for (const Variable& variable : variables) relax::collect_vars(variable->annotation, vars);
  for (const Var& var : vars) visible.insert(var.get());
  Annotation annotation =
      build::restrict_vars(build::annotation_of_operand(value, module_), visible);
  if (chance(0.2)) annotation = coarser(annotation);
  return relax::make_function(variables, close(scope, value), annotation, {}, scope.pure);
}

bool LanguageGenerator::lambda(Scope& scope, int depth) {
  if (depth <= 0 || scope.dataflow) return false;
  Scope own = inner(scope);
  own.pure = scope.pure || chance(0.7);
  own.names = {};  // the outer ones stay visible through the values
  std::vector<Type> params;
  for (uint32_t i = below(3); i > 0; --i) params.push_back(random_type(1, false));
  Type type;
  relax::FunctionRef made = function(params, std::nullopt, std::move(own),
                                     static_cast<int>(below(4)), depth - 1, type, nullptr);
  if (!made) return false;
  auto node = std::make_shared<relax::FunctionNode>();
  node->function = made;
  keep(scope, bind(scope, node, "f"), type);
  return true;
}

// `for` or `while` as the parser reads it: a local function that tail-calls itself.
bool LanguageGenerator::loop(Scope& scope, int depth) {
  if (depth <= 0 || scope.dataflow) return false;
  const int64_t begin = rng_.between(-3, 0), end = begin + below(4);
  Type carried = random_type(0, false);
  if (!scope.values.empty() && chance(0.6)) {
    const Known& known = op::pick(scope.values, rng_);
    if (known.type && known.type->kind != Kind::kFunction) carried = *known.type;
  }
  if (carried.kind == Kind::kPrim) return false;  // its annotation may name the value
  Expr first = value_of(carried, scope);
  if (!first) return false;
  Scope own = inner(scope);
  own.names = {};
  Var counter = make_var(fresh("i"));  // another value in each iteration
  Variable index =
      relax::make_variable(counter->name, relax::prim_annotation(DType::kI64, counter));
  Annotation annotation = annotate(carried, own, true);
  Variable value = relax::make_variable(fresh("carried"), annotation);
  Annotation result = coarser(annotation);
  auto self = std::make_shared<relax::VarNode>();
  self->name = fresh("loop");
  VarMap renamed;
  std::vector<Var> vars = {counter};
  relax::collect_vars(annotation, vars);
  for (const Var& var : vars) renamed[var.get()] = make_var(var->name, var.dtype());
  self->annotation = relax::callable_annotation(
      {relax::substitute(index->annotation, renamed), relax::substitute(annotation, renamed)},
      relax::substitute(result, renamed), own.pure);
  Scope body = inner(own);
  body.values.push_back({value, carried, false});
  if (chance(0.5)) take_turn(counter, body);
  for (uint32_t i = 1 + below(3); i > 0; --i) grow(body, depth - 1);
  if (body.dataflow) toggle_dataflow(body);
  Expr next = value_of(carried, body);
  if (!next) return false;
  Variable again =
      bind(body, relax::make_call(self, {relax::make_prim_value(counter + 1), next}), "next");
  auto node = std::make_shared<relax::IfNode>();
  node->condition = relax::make_prim_value(lt(counter, end));
  node->then_branch = close(body, again);
  node->else_branch = relax::make_seq({}, value);
  Variable last = relax::make_variable(fresh("value"), result);
  auto lambda = std::make_shared<relax::FunctionNode>();
  lambda->function = relax::make_function(
      {index, value}, relax::make_seq({{false, {{last, node, nullptr, {}}}}}, last), result, {},
      own.pure);
  if (scope.blocks.empty() || scope.blocks.back().dataflow) scope.blocks.push_back({});
  scope.blocks.back().bindings.push_back({self, lambda, nullptr, {}});
  Variable done =
      bind(scope, relax::make_call(self, {relax::make_prim_value(begin), first}), "looped");
  keep(scope, done, carried);
  return true;
}

}  // namespace tapml::fuzz
