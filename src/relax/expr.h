// Graph-level expressions, bindings, blocks and functions (Relax paper, section 3.1).
// Nodes are immutable and shared. Functions are kept in A-normal form: the operands of a call, a
// tuple or a projection are atoms (variables, constants, shapes, prim values, names).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/attributes.h"
#include "abi/origin.h"
#include "ir/module.h"
#include "relax/annotation.h"
#include "tensor/host_tensor.h"

namespace tapml::op {
struct OperatorInfo;  // op/operator.h
}

namespace tapml::relax {

enum class ExprKind : uint8_t {
  kVar,
  kConstant,
  kShape,
  kPrimValue,
  kTuple,
  kTupleGetItem,
  kOperator,    // a graph operator by name; only as the callee of a call
  kGlobalVar,   // a function of the Module by name
  kExternFunc,  // a packed function by name
  kCall,
  kIf,
  kSeq,
  kFunction,
};

struct ExprNode {
  explicit ExprNode(ExprKind kind) : kind(kind) {}
  virtual ~ExprNode() = default;
  ExprKind kind;
};
using Expr = std::shared_ptr<const ExprNode>;

// Identity is the node. Dataflow variables are visible only inside their dataflow block.
struct VarNode : ExprNode {
  VarNode() : ExprNode(ExprKind::kVar) {}
  std::string name;
  Annotation annotation;
  bool dataflow = false;
};
using Variable = std::shared_ptr<const VarNode>;

struct ConstantNode : ExprNode {
  ConstantNode() : ExprNode(ExprKind::kConstant) {}
  HostTensor value;
};

struct ShapeNode : ExprNode {
  ShapeNode() : ExprNode(ExprKind::kShape) {}
  Dims dims;
};

struct PrimValueNode : ExprNode {
  PrimValueNode() : ExprNode(ExprKind::kPrimValue) {}
  PrimExpr value;
};

struct TupleNode : ExprNode {
  TupleNode() : ExprNode(ExprKind::kTuple) {}
  std::vector<Expr> fields;
};

struct TupleGetItemNode : ExprNode {
  TupleGetItemNode() : ExprNode(ExprKind::kTupleGetItem) {}
  Expr tuple;
  int index = 0;
};

struct OperatorNode : ExprNode {
  OperatorNode() : ExprNode(ExprKind::kOperator) {}
  std::string name;
  // The entry of an operator that a caller defines; it must outlive the node. Null: the operator of
  // this name in the table (op::operator_table).
  const op::OperatorInfo* info = nullptr;
};

struct GlobalVarNode : ExprNode {
  GlobalVarNode() : ExprNode(ExprKind::kGlobalVar) {}
  std::string name;
};

struct ExternFuncNode : ExprNode {
  ExternFuncNode() : ExprNode(ExprKind::kExternFunc) {}
  std::string name;
};

// A call of an operator, a function of the Module, a function value, or a packed function.
// `annotations` are explicit result annotations (call_tir and friends, packed calls).
//
// Cross-level calls are operators (Relax paper, section 3.3):
//   call_tir(@K, (tensors...), shape(symbolic...))         annotations: the outputs
//   call_tir_inplace(@K, (tensors...), shape(symbolic...)) the same; attr "inout_indices" [i64]:
//       output j reuses the storage of tensor inout_indices[j] if that is >= 0
//   call_dps_library(extern "name", (tensors...))          annotations: the outputs
// @K is a kernel: a graph-level function, the specification, whose facts name the tensor program
// that implements it (ir/facts.h).
struct CallNode : ExprNode {
  CallNode() : ExprNode(ExprKind::kCall) {}
  Expr callee;
  std::vector<Expr> args;
  AttrMap attrs;
  std::vector<Annotation> annotations;
};

struct FunctionNode;

// How messages describe a check at a binding that the compiler made, in terms of the program as
// written.
struct CheckNote {
  std::string what;      // "operand b of add", "match_cast y"; if empty, the binding itself
  std::string binding;   // the written one, "y"; if empty, `what` is not part of one
  std::string function;  // where it was written; if empty, the function of the binding

  bool empty() const { return what.empty() && binding.empty(); }
  bool operator==(const CheckNote&) const = default;
};

struct BindingNode {
  Variable var;
  Expr value;
  Annotation match_cast;  // if set: `var = match_cast(value, annotation)`
  Origin origin;
  CheckNote check = {};
};
using Binding = BindingNode;

struct Block {
  bool dataflow = false;
  std::vector<Binding> bindings;
};

struct SeqNode : ExprNode {
  SeqNode() : ExprNode(ExprKind::kSeq) {}
  std::vector<Block> blocks;
  Expr result;
};

// Branches are sequences; their values join at the least common ancestor of their annotations.
struct IfNode : ExprNode {
  IfNode() : ExprNode(ExprKind::kIf) {}
  Expr condition;  // bool tensor of rank 0, or a bool prim value
  Expr then_branch;
  Expr else_branch;
};

// A lambda expression, which holds a Function.
struct FunctionNode : ExprNode {
  FunctionNode() : ExprNode(ExprKind::kFunction) {}
  std::shared_ptr<const struct Function> function;
};

// A graph-level function of a Module. Symbolic variables are bound by the first parameter
// annotation that has them as a whole dimension.
struct Function : BaseFunction {
  Function() : BaseFunction(FunctionLevel::kRelax) {}
  std::vector<Variable> params;
  Expr body;  // a SeqNode
  Annotation result;
  bool pure = true;
};
using FunctionRef = std::shared_ptr<const Function>;

Variable make_variable(std::string name, Annotation annotation, bool dataflow = false);
Expr make_constant(HostTensor value);
Expr make_shape(Dims dims);
Expr make_prim_value(PrimExpr value);
Expr make_tuple(std::vector<Expr> fields);
Expr make_get_item(Expr tuple, int index);
Expr make_operator(std::string name, const op::OperatorInfo* info = nullptr);
Expr make_global(std::string name);
Expr make_extern(std::string name);
Expr make_call(Expr callee, std::vector<Expr> args, AttrMap attrs = {},
               std::vector<Annotation> annotations = {});
// A call of graph operator `name`.
Expr make_op_call(std::string name, std::vector<Expr> args, AttrMap attrs = {},
                  std::vector<Annotation> annotations = {});
Expr make_seq(std::vector<Block> blocks, Expr result);
FunctionRef make_function(std::vector<Variable> params, Expr body, Annotation result,
                          AttrMap attrs = {}, bool pure = true);

// The node as its type; null if it is of another kind.
template <class T>
const T* as(const Expr& expr);

const Function* as_relax_function(const BaseFunction* function);  // null when it is not one
// Name of the operator that `expr` calls; empty if it is not a call of an operator.
const std::string& called_operator(const Expr& expr);
bool is_call_tir(const Expr& expr);  // call_tir or call_tir_inplace
// The kernel's name and the tensors of a call_tir / call_tir_inplace.
const std::string& call_tir_callee(const CallNode& call);
const std::vector<Expr>& call_tir_args(const CallNode& call);
const Dims& call_tir_symbols(const CallNode& call);  // empty if it passes none

// Annotation of an atom or tuple of atoms: variables carry theirs; constants, shapes, prim values,
// tuples and projections have an exact one. InternalError for anything else (a call's annotation is
// that of the variable it is bound to).
Annotation annotation_of(const Expr& atom);

template <class T>
const T* as(const Expr& expr) {
  static const T kProbe;
  return expr && expr->kind == kProbe.kind ? static_cast<const T*>(expr.get()) : nullptr;
}

}  // namespace tapml::relax
