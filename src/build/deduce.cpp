#include "build/annotations.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "relax/storage.h"
#include "relax/unify.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// The result of calling something with the given signature. Shapes that depend on variables which
// the arguments do not determine are coarsened.
Annotation result_of_signature(const std::string& callee, const std::vector<Annotation>& params,
                               const Annotation& result, const CallNode& call,
                               const Module& module) {
  if (params.size() != call.args.size()) {
    throw_user(callee + ": wrong number of arguments", "", std::to_string(params.size()),
               std::to_string(call.args.size()));
  }
  std::vector<Annotation> args;
  for (const Expr& arg : call.args) args.push_back(annotation_of_operand(arg, module));
  auto mismatch = [&](size_t i, const Annotation& expected) {
    throw_user(callee + ": argument " + std::to_string(i) + " does not fit the signature", "",
               to_string(expected), to_string(args[i]));
  };
  VarMap solved;
  size_t wrong = 0;
  if (!unify_all(params, args, solved, wrong)) mismatch(wrong, params[wrong]);
  SymbolSet known;
  for (const auto& [var, value] : solved) known.insert(var);
  // Dimensions that unify does not compare: expressions, and variables that occur more than once.
  for (size_t i = 0; i < params.size(); ++i) {
    Annotation expected = simplified(substitute(restrict_vars(params[i], known), solved));
    if (!compatible(expected, args[i])) mismatch(i, expected);
  }
  // Variables that no parameter has belong to the scope where the function was made.
  std::vector<Var> own, used;
  for (const Annotation& param : params) collect_vars(param, own);
  collect_vars(result, used);
  for (const Var& var : used) known.insert(var.get());
  for (const Var& var : own) {
    if (!solved.contains(var.get())) known.erase(var.get());
  }
  return simplified(substitute(restrict_vars(result, known), solved));
}

Annotation explicit_result(const CallNode& call) {
  if (call.annotations.empty()) return object_annotation();
  return call.annotations.size() == 1 ? call.annotations[0] : tuple_annotation(call.annotations);
}

bool is_cross_level(const std::string& op) {
  return op == "call_tir" || op == "call_tir_inplace" || op == "call_dps_library";
}

}  // namespace

Annotation annotation_of_operand(const Expr& operand, const Module& module) {
  if (const auto* global = as<GlobalVarNode>(operand)) {
    const auto* function = as_relax_function(module.find(global->name));
    return function ? annotation_of_function(*function) : object_annotation();
  }
  if (const auto* tuple = as<TupleNode>(operand)) {
    std::vector<Annotation> fields;
    for (const Expr& field : tuple->fields) fields.push_back(annotation_of_operand(field, module));
    return tuple_annotation(std::move(fields));
  }
  return annotation_of(operand);
}

Annotation annotation_of_function(const Function& function) {
  std::vector<Annotation> params;
  for (const Variable& param : function.params) params.push_back(param->annotation);
  return callable_annotation(std::move(params), function.result, function.pure);
}

Annotation deduce_call(const CallNode& call, const Module& module) {
  if (const auto* op = as<OperatorNode>(call.callee)) {
    if (storage_op(call) != StorageOp::kNone) return deduce_storage_op(call);
    if (!is_cross_level(op->name)) return op::deduce(call);
    if (call.annotations.empty()) {
      throw_user(op->name + ": the annotations of its outputs are missing");
    }
    return explicit_result(call);
  }
  if (const auto* global = as<GlobalVarNode>(call.callee)) {
    const BaseFunction* callee = module.find(global->name);
    const auto* function = as_relax_function(callee);
    if (!function) {
      throw_user(callee ? "@" + global->name + " is a tensor program: call it by call_tir"
                        : "no function is called @" + global->name);
    }
    std::vector<Annotation> params;
    for (const Variable& param : function->params) params.push_back(param->annotation);
    return result_of_signature("@" + global->name, params, function->result, call, module);
  }
  if (const auto* var = as<VarNode>(call.callee)) {
    if (const auto* callable = as_callable(var->annotation)) {
      return result_of_signature(var->name, callable->params, callable->result, call, module);
    }
    if (var->annotation->kind == AnnotationKind::kObject) return explicit_result(call);
    throw_user(var->name + " is called but is not a function", "", "a Callable",
               to_string(var->annotation));
  }
  if (as<ExternFuncNode>(call.callee)) return explicit_result(call);
  throw_internal("deduce_call of a callee that is neither a name nor a variable");
}

}  // namespace tapml::build
