#include "op/operand_checks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "arith/analyzer.h"

namespace tapml::op {

using namespace relax;  // NOLINT: this file is about relax alone

std::string Operand::argument_name() const {
  return argument < info.args.size() ? info.args[argument].name : "argument";
}

std::string Operand::name() const {
  return field < 0 ? argument_name() : argument_name() + "[" + std::to_string(field) + "]";
}

Annotation respelled(const Annotation& from, const PrimExpr& dim, const PrimExpr& instead) {
  const auto* tensor = as_tensor(from);
  if (!tensor || !tensor->shape) return nullptr;
  Dims dims = *tensor->shape;
  bool found = false;
  for (PrimExpr& one : dims) {
    if (!same_expr(one, dim)) continue;
    one = instead;
    found = true;
  }
  return found ? tensor_annotation(std::move(dims), tensor->dtype) : nullptr;
}

std::vector<BroadcastPair> open_broadcasts(const CallNode& call) {
  std::vector<size_t> tensors;
  std::vector<Dims> shapes;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Annotation annotation = annotation_of(call.args[i]);
    const auto* tensor = as_tensor(annotation);
    if (!tensor || !tensor->shape) continue;
    tensors.push_back(i);
    shapes.push_back(*tensor->shape);
  }
  std::vector<BroadcastPair> pairs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t j = i + 1; j < tensors.size(); ++j) {
      const Dims &a = shapes[i], &b = shapes[j];
      for (size_t d = 1; d <= std::min(a.size(), b.size()); ++d) {
        const PrimExpr &x = a[a.size() - d], &y = b[b.size() - d];
        if (x.is_int() || y.is_int() || arith::Analyzer().prove_equal(x, y)) continue;
        pairs.push_back({tensors[i], tensors[j], x, y});
      }
    }
  }
  return pairs;
}

namespace {

bool mentions(const PrimExpr& a, const PrimExpr& b) {
  for (const Var& x : free_vars(a)) {
    for (const Var& y : free_vars(b)) {
      if (x.same_as(y)) return true;
    }
  }
  return false;
}

class OperandChecks {
 public:
  OperandChecks(const CheckOperand& check, const CheckInteger& check_integer)
      : check_(check), check_integer_(check_integer) {}

  Expr run(Expr value) {
    constexpr int kMostChecks = 64;
    for (int i = 0; i < kMostChecks; ++i) {
      const auto& call = *as<CallNode>(value);
      std::vector<OpenEquality> undecided;
      CallView view = view_call(call);
      view.strict = true;
      view.undecided = &undecided;
      view.info.deduce(view);
      std::erase_if(undecided, [&](const OpenEquality& open) { return is_asserted(open); });
      if (undecided.empty()) return value;
      value = check(value, view.info, undecided.front());
    }
    CallView view = view_call(*as<CallNode>(value));
    view.strict = true;
    view.info.deduce(view);
    return value;
  }

 private:
  bool is_asserted(const OpenEquality& open) const {
    return std::any_of(asserted_.begin(), asserted_.end(), [&](const OpenEquality& known) {
      return same_expr(known.a, open.a) && same_expr(known.b, open.b);
    });
  }

  Expr check(const Expr& value, const OperatorInfo& info, const OpenEquality& open) {
    const auto& call = *as<CallNode>(value);
    // A constraint of a dimension on itself (that it is 1 or 4) gives no better expression: the
    // operand is checked and its annotation stays.
    const bool only_asserts = mentions(open.a, open.b);
    if (only_asserts) asserted_.push_back(open);
    PrimExpr instead = open.a, dim = open.b;
    for (int side = 0; side < 2; ++side, std::swap(instead, dim)) {
      for (size_t i = call.args.size(); i-- > 0;) {
        const auto* tuple = as<TupleNode>(call.args[i]);
        std::vector<Expr> fields = tuple ? tuple->fields : std::vector<Expr>{call.args[i]};
        for (size_t f = fields.size(); f-- > 0;) {
          Annotation expected = respelled(annotation_of(fields[f]), dim, instead);
          if (!expected) continue;
          Expr checked = check_({info, i, tuple ? static_cast<int>(f) : -1, fields[f]}, expected);
          std::vector<Expr> args = call.args;
          if (!only_asserts) fields[f] = checked;
          args[i] = tuple ? make_tuple(fields) : fields[0];
          return make_call(call.callee, std::move(args), call.attrs, call.annotations);
        }
      }
    }
    if (!only_asserts) asserted_.push_back(open);
    check_integer_(info, open);
    return value;
  }

  const CheckOperand& check_;
  const CheckInteger& check_integer_;
  std::vector<OpenEquality> asserted_;
};

}  // namespace

Expr check_operands(const Expr& call, const CheckOperand& check,
                    const CheckInteger& check_integer) {
  return OperandChecks(check, check_integer).run(call);
}

}  // namespace tapml::op
