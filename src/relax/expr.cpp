#include "relax/expr.h"

#include "ir/exceptions.h"

namespace tapml::relax {

Variable make_variable(std::string name, Annotation annotation, bool dataflow) {
  auto node = std::make_shared<VarNode>();
  node->name = std::move(name);
  node->annotation = annotation ? std::move(annotation) : object_annotation();
  node->dataflow = dataflow;
  return node;
}

Expr make_constant(HostTensor value) {
  auto node = std::make_shared<ConstantNode>();
  node->value = std::move(value);
  return node;
}

Expr make_shape(Dims dims) {
  auto node = std::make_shared<ShapeNode>();
  node->dims = std::move(dims);
  return node;
}

Expr make_prim_value(PrimExpr value) {
  auto node = std::make_shared<PrimValueNode>();
  node->value = std::move(value);
  return node;
}

Expr make_tuple(std::vector<Expr> fields) {
  auto node = std::make_shared<TupleNode>();
  node->fields = std::move(fields);
  return node;
}

Expr make_get_item(Expr tuple, int index) {
  auto node = std::make_shared<TupleGetItemNode>();
  node->tuple = std::move(tuple);
  node->index = index;
  return node;
}

Expr make_operator(std::string name, const op::OperatorInfo* info) {
  auto node = std::make_shared<OperatorNode>();
  node->name = std::move(name);
  node->info = info;
  return node;
}

Expr make_global(std::string name) {
  auto node = std::make_shared<GlobalVarNode>();
  node->name = std::move(name);
  return node;
}

Expr make_extern(std::string name) {
  auto node = std::make_shared<ExternFuncNode>();
  node->name = std::move(name);
  return node;
}

Expr make_call(Expr callee, std::vector<Expr> args, AttrMap attrs,
               std::vector<Annotation> annotations) {
  auto node = std::make_shared<CallNode>();
  node->callee = std::move(callee);
  node->args = std::move(args);
  node->attrs = std::move(attrs);
  node->annotations = std::move(annotations);
  return node;
}

Expr make_op_call(std::string name, std::vector<Expr> args, AttrMap attrs,
                  std::vector<Annotation> annotations) {
  return make_call(make_operator(std::move(name)), std::move(args), std::move(attrs),
                   std::move(annotations));
}

Expr make_seq(std::vector<Block> blocks, Expr result) {
  auto node = std::make_shared<SeqNode>();
  node->blocks = std::move(blocks);
  node->result = std::move(result);
  return node;
}

FunctionRef make_function(std::vector<Variable> params, Expr body, Annotation result, AttrMap attrs,
                          bool pure) {
  auto function = std::make_shared<Function>();
  function->params = std::move(params);
  function->body = std::move(body);
  function->result = std::move(result);
  function->set_attrs(std::move(attrs));
  function->pure = pure;
  return function;
}

const Function* as_relax_function(const BaseFunction* function) {
  return function && function->level == FunctionLevel::kRelax
             ? static_cast<const Function*>(function)
             : nullptr;
}

const std::string& called_operator(const Expr& expr) {
  static const std::string kNone;
  const auto* call = as<CallNode>(expr);
  if (!call) return kNone;
  const auto* op = as<OperatorNode>(call->callee);
  return op ? op->name : kNone;
}

bool is_call_tir(const Expr& expr) {
  const std::string& name = called_operator(expr);
  return name == "call_tir" || name == "call_tir_inplace";
}

const std::string& call_tir_callee(const CallNode& call) {
  const auto* global = call.args.empty() ? nullptr : as<GlobalVarNode>(call.args[0]);
  if (!global) throw_internal("call_tir without a function name as its first argument");
  return global->name;
}

const std::vector<Expr>& call_tir_args(const CallNode& call) {
  const auto* tuple = call.args.size() < 2 ? nullptr : as<TupleNode>(call.args[1]);
  if (!tuple) throw_internal("call_tir without a tuple of tensors as its second argument");
  return tuple->fields;
}

const Dims& call_tir_symbols(const CallNode& call) {
  static const Dims kNone;
  const auto* shape = call.args.size() < 3 ? nullptr : as<ShapeNode>(call.args[2]);
  return shape ? shape->dims : kNone;
}

Annotation annotation_of(const Expr& atom) {
  if (const auto* var = as<VarNode>(atom)) return var->annotation;
  if (const auto* constant = as<ConstantNode>(atom)) {
    Dims dims;
    for (int64_t dim : constant->value.shape()) dims.push_back(dim);
    return tensor_annotation(std::move(dims), constant->value.dtype());
  }
  if (const auto* shape = as<ShapeNode>(atom)) return shape_annotation(shape->dims);
  if (const auto* prim = as<PrimValueNode>(atom)) {
    return prim_annotation(prim->value.dtype(), prim->value);
  }
  if (const auto* tuple = as<TupleNode>(atom)) {
    std::vector<Annotation> fields;
    for (const Expr& field : tuple->fields) fields.push_back(annotation_of(field));
    return tuple_annotation(std::move(fields));
  }
  if (const auto* item = as<TupleGetItemNode>(atom)) {
    const Annotation tuple = annotation_of(item->tuple);
    const auto* fields = as_tuple(tuple);
    if (fields && item->index >= 0 && static_cast<size_t>(item->index) < fields->fields.size()) {
      return fields->fields[item->index];
    }
    return object_annotation();
  }
  if (atom && (atom->kind == ExprKind::kExternFunc || atom->kind == ExprKind::kGlobalVar ||
               atom->kind == ExprKind::kOperator)) {
    return object_annotation();
  }
  throw_internal("annotation asked of an expression that is not an atom");
}

}  // namespace tapml::relax
