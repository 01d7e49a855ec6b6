#include "build/block_builder.h"

#include "build/annotations.h"
#include "ir/exceptions.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

std::string name_hint(const Expr& value) {
  const std::string& op = called_operator(value);
  if (is_call_tir(value)) return call_tir_callee(*as<CallNode>(value));
  return op.empty() ? "v" : op;
}

}  // namespace

bool is_atom(const Expr& expr) {
  if (!expr) return true;
  switch (expr->kind) {
    case relax::ExprKind::kVar:
    case relax::ExprKind::kConstant:
    case relax::ExprKind::kShape:
    case relax::ExprKind::kPrimValue:
    case relax::ExprKind::kOperator:
    case relax::ExprKind::kGlobalVar:
    case relax::ExprKind::kExternFunc:
      return true;
    case relax::ExprKind::kTuple:
      for (const Expr& field : as<TupleNode>(expr)->fields) {
        if (!is_atom(field)) return false;
      }
      return true;
    default:
      return false;
  }
}

std::string FunctionBuilder::unique(const std::string& hint) {
  int& count = names_[hint];
  if (count++ == 0) return hint;
  for (;; ++count) {
    std::string name = hint + "_" + std::to_string(count - 1);
    if (names_.emplace(name, 1).second) return name;
  }
}

Variable FunctionBuilder::param(const std::string& name, Annotation annotation) {
  params_.push_back(make_variable(unique(name), std::move(annotation)));
  return params_.back();
}

void FunctionBuilder::begin_dataflow() {
  blocks_.push_back({.dataflow = true, .bindings = {}});
  in_dataflow_ = true;
}

void FunctionBuilder::end_dataflow() { in_dataflow_ = false; }

Expr FunctionBuilder::atom(const Expr& expr) {
  if (is_atom(expr)) return expr;
  if (const auto* tuple = as<TupleNode>(expr)) {
    std::vector<Expr> fields;
    for (const Expr& field : tuple->fields) fields.push_back(atom(field));
    return make_tuple(std::move(fields));
  }
  return emit(expr);
}

Variable FunctionBuilder::bind(Expr value, Annotation annotation, Annotation match_cast,
                               const std::string& name, bool output) {
  if (!in_dataflow_ && (blocks_.empty() || blocks_.back().dataflow)) blocks_.push_back({});
  Variable var = make_variable(unique(name.empty() ? name_hint(value) : name),
                               std::move(annotation), in_dataflow_ && !output);
  blocks_.back().bindings.push_back({var, std::move(value), std::move(match_cast), origin_});
  return var;
}

Variable FunctionBuilder::emit(Expr value, const std::string& name, bool output) {
  if (const auto* call = as<CallNode>(value)) {
    std::vector<Expr> args;
    for (const Expr& arg : call->args) args.push_back(atom(arg));
    value = make_call(call->callee, std::move(args), call->attrs, call->annotations);
    return bind(value, deduce_call(*as<CallNode>(value), module_), nullptr, name, output);
  }
  if (as<TupleNode>(value)) value = atom(value);
  if (const auto* item = as<TupleGetItemNode>(value)) {
    value = make_get_item(atom(item->tuple), item->index);
  }
  if (value->kind == relax::ExprKind::kIf || value->kind == relax::ExprKind::kSeq ||
      value->kind == relax::ExprKind::kFunction) {
    return bind(value, annotation_of_value(value, module_), nullptr, name, output);
  }
  return bind(value, annotation_of(value), nullptr, name, output);
}

Variable FunctionBuilder::emit_op(const std::string& op, std::vector<Expr> args, AttrMap attrs,
                                  const std::string& name, bool output) {
  return emit(make_op_call(op, std::move(args), std::move(attrs)), name, output);
}

Variable FunctionBuilder::emit_match_cast(Expr value, Annotation annotation) {
  value = atom(value);
  if (!compatible(annotation_of(value), annotation)) {
    throw_user("match_cast can never succeed", "", to_string(annotation),
               to_string(annotation_of(value)));
  }
  return bind(value, annotation, annotation, "", false);
}

FunctionRef FunctionBuilder::finish(Expr result, AttrMap attrs) {
  bool was_in_dataflow = in_dataflow_;
  if (!is_atom(result)) {
    result = as<TupleNode>(result) ? atom(result) : Expr(emit(result, "", was_in_dataflow));
  }
  end_dataflow();
  SymbolSet visible;
  std::vector<Var> vars;
  for (const Variable& param : params_) collect_vars(param->annotation, vars);
  for (const Var& var : vars) visible.insert(var.get());
  bool pure = true;
  for (const Block& block : blocks_) {
    for (const Binding& binding : block.bindings) {
      const auto* call = as<CallNode>(binding.value);
      if (!call) continue;
      if (as<ExternFuncNode>(call->callee)) pure = false;
      if (const auto* global = as<GlobalVarNode>(call->callee)) {
        const auto* callee = as_relax_function(module_.find(global->name));
        pure = pure && (!callee || callee->pure);
      }
    }
  }
  Annotation annotation = restrict_vars(annotation_of(result), visible);
  return make_function(std::move(params_), make_seq(std::move(blocks_), result), annotation,
                       std::move(attrs), pure);
}

}  // namespace tapml::build
