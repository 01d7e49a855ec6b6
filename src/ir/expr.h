// Scalar expressions, shared by both levels: symbolic integers of shapes and the arithmetic of
// tensor programs. Nodes are immutable and shared; a variable's identity is its node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace tapml {

// Base of everything that an expression node may refer to beyond scalars (a tir::Buffer).
struct Object {
  virtual ~Object() = default;
};

enum class ExprKind : uint8_t {
  kInt,    // int_value (bool, integer dtypes)
  kFloat,  // float_value
  kVar,    // name; identity is the node
  kAdd,
  kSub,
  kMul,
  kDiv,       // float division
  kFloorDiv,  // integers, rounds toward minus infinity; 0 if the divisor is 0
  kFloorMod,  // integers, sign of the divisor; 0 if the divisor is 0
  kMin,       // NaN if either operand is NaN
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kAnd,
  kOr,
  kNot,
  kSelect,  // condition, then, else; only the chosen side is evaluated
  kCast,    // operand to dtype
  kCall,    // intrinsic `name` (ir/intrinsics.h) of operands
  kLoad,    // element of `object` (a tir::Buffer) at the operand indices
  kLet,     // operands: variable, value, body
};

class PrimExpr;

struct ExprNode {
  ExprKind kind = ExprKind::kInt;
  DType dtype = DType::kI64;
  std::vector<PrimExpr> operands;
  int64_t int_value = 0;
  double float_value = 0;
  std::string name;
  std::shared_ptr<const Object> object;
};

// A reference to a node; null only when default-constructed.
class PrimExpr {
 public:
  PrimExpr() = default;
  explicit PrimExpr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  // Symbolic integers (i64), so that shapes can be written as {n, 4}.
  PrimExpr(int64_t value);                                        // NOLINT
  PrimExpr(int value) : PrimExpr(static_cast<int64_t>(value)) {}  // NOLINT

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  const std::shared_ptr<const ExprNode>& shared() const { return node_; }
  bool same_as(const PrimExpr& other) const { return node_ == other.node_; }

  ExprKind kind() const { return node_->kind; }
  DType dtype() const { return node_->dtype; }
  bool is_int() const { return node_->kind == ExprKind::kInt; }
  bool is_int(int64_t value) const { return is_int() && node_->int_value == value; }
  bool is_var() const { return node_->kind == ExprKind::kVar; }
  const PrimExpr& operand(size_t i) const { return node_->operands[i]; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

using Var = PrimExpr;  // of kind kVar
using Dims = std::vector<PrimExpr>;

// Raw constructors: they make exactly the requested node, without folding (the parser uses them).
PrimExpr make_int(int64_t value, DType dtype = DType::kI64);
PrimExpr make_float(double value, DType dtype);
PrimExpr make_bool(bool value);
Var make_var(std::string name, DType dtype = DType::kI64);
PrimExpr make_node(ExprKind kind, DType dtype, std::vector<PrimExpr> operands,
                   std::string name = "", std::shared_ptr<const Object> object = nullptr);
// Binary node; comparisons give bool, the rest the operands' dtype (which must be equal).
PrimExpr make_binary(ExprKind kind, PrimExpr a, PrimExpr b);
PrimExpr make_call(std::string intrinsic, DType dtype, std::vector<PrimExpr> operands);

// Building with light folding of integer constants and neutral elements (x+0, x*1, 2*3); an integer
// constant operand takes the other side's dtype.
PrimExpr operator+(PrimExpr a, PrimExpr b);
PrimExpr operator-(PrimExpr a, PrimExpr b);
PrimExpr operator*(PrimExpr a, PrimExpr b);
PrimExpr fdiv(PrimExpr a, PrimExpr b);
PrimExpr floordiv(PrimExpr a, PrimExpr b);
PrimExpr floormod(PrimExpr a, PrimExpr b);
// extent / size rounded up: how many pieces of `size` cover `extent`. `size` must be positive.
PrimExpr ceil_div(const PrimExpr& extent, const PrimExpr& size);
// The least multiple of `step` that is at least `value`. `step` must be positive.
PrimExpr round_up(const PrimExpr& value, const PrimExpr& step);
PrimExpr min(PrimExpr a, PrimExpr b);
PrimExpr max(PrimExpr a, PrimExpr b);
PrimExpr eq(PrimExpr a, PrimExpr b);
PrimExpr ne(PrimExpr a, PrimExpr b);
PrimExpr lt(PrimExpr a, PrimExpr b);
PrimExpr le(PrimExpr a, PrimExpr b);
PrimExpr logical_and(PrimExpr a, PrimExpr b);
PrimExpr logical_or(PrimExpr a, PrimExpr b);
PrimExpr logical_not(PrimExpr a);
PrimExpr select(PrimExpr condition, PrimExpr a, PrimExpr b);
PrimExpr cast(DType dtype, PrimExpr a);  // the operand itself when the dtype is the same
PrimExpr let(Var var, PrimExpr value, PrimExpr body);

bool is_binary(ExprKind kind);      // kAdd .. kOr
bool is_comparison(ExprKind kind);  // kEq .. kLe

// Rounds toward minus infinity; the result is 0 if the divisor is 0, and INT64_MIN / -1 wraps.
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);

// Calls f on every node, operands first. Loads' indices are visited, buffers are not.
void visit_expr(const PrimExpr& expr, const std::function<void(const PrimExpr&)>& f);
// Rebuilds bottom-up: f sees each node with its operands already rewritten and returns its
// replacement, or a null PrimExpr to keep it. Unchanged subtrees stay shared.
PrimExpr rewrite_expr(const PrimExpr& expr, const std::function<PrimExpr(const PrimExpr&)>& f);

using VarMap = std::map<const ExprNode*, PrimExpr>;
PrimExpr substitute(const PrimExpr& expr, const VarMap& values);
// Variables in order of first occurrence, without repetition.
std::vector<Var> free_vars(const PrimExpr& expr);
void collect_vars(const PrimExpr& expr, std::vector<Var>& into);

// Equal trees; variables by identity.
bool same_expr(const PrimExpr& a, const PrimExpr& b);

// For messages: "n*4 + 1".
std::string to_string(const PrimExpr& expr);

}  // namespace tapml
