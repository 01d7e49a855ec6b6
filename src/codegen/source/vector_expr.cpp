#include "codegen/source/vector_expr.h"

#include <algorithm>

#include "codegen/source/operations.h"
#include "ir/exceptions.h"
#include "tir/buffer.h"

namespace tapml::codegen {

namespace {

bool is_word(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32;
}

bool is_logical(ExprKind kind) { return kind == ExprKind::kAnd || kind == ExprKind::kOr; }

class VectorWriter {
 public:
  VectorWriter(const VectorLanes& lanes, const Dialect& dialect)
      : lanes_(lanes), dialect_(dialect), operations_(*dialect.vectors()) {}

  std::string value(const PrimExpr& e) {
    const std::string type = dialect_.vector_type(e.dtype());
    if (is_common(e)) return operations_.splat(type, lanes_.common(e));
    if (e.kind() == ExprKind::kLoad && is_read(e)) return lanes_.loaded.at(e.get());
    if (is_arithmetic(e)) return arithmetic(e);
    if (e.kind() == ExprKind::kMin || e.kind() == ExprKind::kMax) return extremum(e);
    if (e.kind() == ExprKind::kSelect && is_vector_select(e)) {
      const std::string condition = mask(e.operand(0));
      const std::string a = value(e.operand(1));
      return operations_.vector_select(condition, a, value(e.operand(2)));
    }
    return dialect_.make_vector(type, lanes_.each(e));
  }

 private:
  bool is_read(const PrimExpr& load) const { return lanes_.loaded.contains(load.get()); }

  // Whether the expression is uniform across lanes, based on what it mentions.
  bool is_common(const PrimExpr& e) const {
    if (e.same_as(lanes_.lane) || e.kind() == ExprKind::kLet) return false;
    if (e.kind() == ExprKind::kLoad && is_read(e)) return false;
    return std::ranges::all_of(e->operands,
                               [this](const PrimExpr& operand) { return is_common(operand); });
  }

  static bool is_arithmetic(const PrimExpr& e) {
    const ExprKind kind = e.kind();
    return e.dtype() == DType::kF32 && (kind == ExprKind::kAdd || kind == ExprKind::kSub ||
                                        kind == ExprKind::kMul || kind == ExprKind::kDiv);
  }

  // Whether it may be computed for lanes that do not need it.
  bool reads_nothing_new(const PrimExpr& e) const {
    if (e.kind() == ExprKind::kLoad) return is_read(e);
    return std::ranges::all_of(
        e->operands, [this](const PrimExpr& operand) { return reads_nothing_new(operand); });
  }

  // A branch of a select, which is also computed for lanes that take the other: cheap, no new
  // reads.
  bool is_side(const PrimExpr& e) const {
    if (is_common(e)) return reads_nothing_new(e);
    if (e.kind() == ExprKind::kLoad) return is_read(e);
    if (e.kind() == ExprKind::kSelect) return reads_nothing_new(e) && is_vector_select(e);
    return (is_arithmetic(e) || e.kind() == ExprKind::kMin || e.kind() == ExprKind::kMax) &&
           is_side(e.operand(0)) && is_side(e.operand(1));
  }

  bool is_vector_select(const PrimExpr& e) const {
    return is_condition(e.operand(0)) && is_side(e.operand(1)) && is_side(e.operand(2));
  }

  // A condition that may be computed as a mask: "and" and "or" evaluate both operands.
  bool is_condition(const PrimExpr& e) const {
    if (is_common(e)) return true;
    if (is_logical(e.kind())) return is_condition(e.operand(0)) && reads_nothing_new(e.operand(1));
    return true;
  }

  std::string mask(const PrimExpr& e) {
    if (is_common(e)) return operations_.splat_mask(lanes_.common(e));
    if (e.kind() == ExprKind::kNot) return operations_.vector_not(mask(e.operand(0)));
    if (is_logical(e.kind())) {
      const std::string a = mask(e.operand(0));
      return operations_.vector_logic(e.kind(), a, mask(e.operand(1)));
    }
    if (is_comparison(e.kind()) && is_word(e.operand(0).dtype())) {
      const std::string a = value(e.operand(0));
      return operations_.vector_compare(e.kind(), a, value(e.operand(1)));
    }
    return operations_.make_mask(lanes_.each(e));
  }

  // As for scalars, a product in a sum may be contracted.
  std::string arithmetic(const PrimExpr& e) {
    if (e.kind() == ExprKind::kAdd) {
      for (size_t i : {1, 0}) {
        const PrimExpr& product = e.operand(i);
        if (product.kind() != ExprKind::kMul || is_common(product)) continue;
        const std::string x = operand(product, 0), y = operand(product, 1);
        return dialect_.multiply_add(x, y, operand(e, 1 - i), e.dtype());
      }
    }
    const char* op = e.kind() == ExprKind::kAdd   ? " + "
                     : e.kind() == ExprKind::kSub ? " - "
                     : e.kind() == ExprKind::kMul ? " * "
                                                  : " / ";
    const std::string a = operand(e, 0);
    return "(" + a + op + operand(e, 1) + ")";
  }

  std::string operand(const PrimExpr& arithmetic, size_t i) {
    const std::string text = value(arithmetic.operand(i));
    return may_be_seen_zero(arithmetic, i) ? operations_.vector_hidden(text) : text;
  }

  // NaN wins.
  std::string extremum(const PrimExpr& e) {
    const std::string x = lanes_.name(value(e.operand(0)), e.dtype());
    const std::string y = lanes_.name(value(e.operand(1)), e.dtype());
    const bool least = e.kind() == ExprKind::kMin;
    std::string takes = operations_.vector_compare(ExprKind::kLt, least ? y : x, least ? x : y);
    if (is_float(e.dtype())) {
      takes = operations_.vector_logic(ExprKind::kOr, takes,
                                       operations_.vector_compare(ExprKind::kNe, y, y));
    }
    return operations_.vector_select(takes, y, x);
  }

  const VectorLanes& lanes_;
  const Dialect& dialect_;
  const VectorOperations& operations_;
};

}  // namespace

std::string vector_expr(const PrimExpr& expr, const VectorLanes& lanes, const Dialect& dialect) {
  return VectorWriter(lanes, dialect).value(expr);
}

}  // namespace tapml::codegen
