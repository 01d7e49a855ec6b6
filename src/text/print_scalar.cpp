// Scalar expressions.
#include "ir/exceptions.h"
#include "text/literals.h"
#include "text/operators.h"
#include "text/printer_impl.h"

namespace tapml::text {

Printer::Nest::Nest(Printer&, int& depth) : depth_(depth) {
  if (++depth_ > kMaxLevels) {
    --depth_;
    throw_user("the program is nested deeper than the text format allows", "",
               "at most " + std::to_string(kMaxNesting) + " levels");
  }
}

void Printer::scalars(const std::vector<PrimExpr>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out_ += ", ";
    scalar(list[i]);
  }
}

void Printer::dims(const Dims& dims) {
  out_ += '(';
  scalars(dims);
  out_ += dims.size() == 1 ? ",)" : ")";
}

void Printer::literal(const ExprNode& node) {
  const std::string dtype = dtype_name(node.dtype);
  if (node.kind == ExprKind::kFloat) {
    out_ += dtype + "(" + format_float(node.float_value, node.dtype) + ")";
  } else if (node.dtype == DType::kI64) {
    out_ += std::to_string(node.int_value);
  } else if (node.dtype == DType::kBool && (node.int_value == 0 || node.int_value == 1)) {
    out_ += node.int_value ? "true" : "false";
  } else {
    out_ += dtype + "(" + std::to_string(node.int_value) + ")";
  }
}

void Printer::binary(const PrimExpr& expr, int outer) {
  const InfixOperator& op = *find_infix(expr.kind());
  bool parens = op.strength < outer;
  if (parens) out_ += '(';
  scalar(expr.operand(0), op.chains ? op.strength : op.strength + 1);
  // Tight operators close up, so that shapes stay short.
  bool tight = op.strength == 5 && op.kind != ExprKind::kDiv;
  out_ += tight ? std::string(op.symbol) : " " + std::string(op.symbol) + " ";
  scalar(expr.operand(1), op.strength + 1);
  if (parens) out_ += ')';
}

void Printer::scalar(const PrimExpr& expr, int outer) {
  if (!expr) {
    out_ += "<null>";
    return;
  }
  Nest nest(*this, scalar_depth_);
  auto call = [&](const std::string& name, const char* dtype = nullptr) {
    out_ += name + "(";
    if (dtype) out_ += dtype;
    if (dtype && !expr->operands.empty()) out_ += ", ";
    scalars(expr->operands);
    out_ += ')';
  };
  switch (expr.kind()) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
      literal(*expr);
      break;
    case ExprKind::kVar:
      name_of(expr.get(), expr->name);
      break;
    case ExprKind::kMin:
      call("min");
      break;
    case ExprKind::kMax:
      call("max");
      break;
    case ExprKind::kNot:
      call("not");
      break;
    case ExprKind::kSelect:
      call("select");
      break;
    case ExprKind::kCast:
      call("cast", dtype_name(expr.dtype()));
      break;
    case ExprKind::kCall: {
      bool same = !expr->operands.empty() && expr.operand(0).dtype() == expr.dtype();
      call(format_name(expr->name), same ? nullptr : dtype_name(expr.dtype()));
      break;
    }
    case ExprKind::kLoad:
      buffer_access(static_cast<const tir::BufferNode&>(*expr->object), expr->operands);
      break;
    case ExprKind::kLet: {
      if (outer > 0) out_ += '(';
      out_ += "let ";
      names_.push();
      const PrimExpr& var = expr.operand(0);
      define(var.get(), var->name);
      out_ += std::string(": ") + dtype_name(var.dtype()) + " = ";
      scalar(expr.operand(1));
      out_ += " in ";
      scalar(expr.operand(2));
      names_.pop();
      if (outer > 0) out_ += ')';
      break;
    }
    default:
      binary(expr, outer);
      break;
  }
}

}  // namespace tapml::text
