#include "passes/simplify_graph.h"

#include <algorithm>
#include <cmath>

#include "build/pattern.h"
#include "op/operator.h"
#include "op/shapes.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Dimensions of a tensor, if known.
std::optional<Dims> dims_of(const Expr& operand) {
  const Annotation annotation = annotation_of(operand);
  const auto* known = as_tensor(annotation);
  return known ? known->shape : std::nullopt;
}

std::optional<DType> dtype_of(const Expr& operand) {
  const Annotation annotation = annotation_of(operand);
  const auto* known = as_tensor(annotation);
  return known ? known->dtype : std::nullopt;
}

class Simplifier final : public ForwardRewrite {
 public:
  // The call that a rule looks at; its attributes have their defaults.
  struct Call {
    const Simplifier& self;
    const CallNode& node;
    AttrMap attrs;
    Annotation result;

    const Expr& arg(size_t i) const { return node.args[i]; }
    std::optional<DType> dtype(size_t i) const { return dtype_of(arg(i)); }
    std::optional<Dims> dims(size_t i) const { return dims_of(arg(i)); }
    std::optional<Dims> result_dims() const {
      const auto* known = as_tensor(result);
      return known ? known->shape : std::nullopt;
    }
    const std::vector<int64_t>& integers(const char* name) const {
      return std::get<std::vector<int64_t>>(attrs.at(name));
    }
    bool flag(const char* name) const { return std::get<bool>(attrs.at(name)); }
    // The call of `op` that made argument i.
    const CallNode* made_by(size_t i, const std::string& op) const {
      const CallNode* call = self.producer(arg(i));
      const auto* callee = call ? as<OperatorNode>(call->callee) : nullptr;
      return callee && callee->name == op ? call : nullptr;
    }
  };

 protected:
  Expr rewrite(const Binding& binding, bool) override;
};

using Call = Simplifier::Call;
using Rule = Expr (*)(const Call&);

bool same_elements(const Dims& a, const Dims& b) {
  return op::provably_equal(op::product(a), op::product(b));
}

bool equal_dims(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  return a && b && a->size() == b->size() &&
         std::equal(a->begin(), a->end(), b->begin(), op::provably_equal);
}

// Whether every element of a constant is `value`, sign of zero included.
bool is_all(const Expr& expr, double value) {
  const auto* constant = as<ConstantNode>(expr);
  if (!constant || constant->value.size() == 0) return false;
  for (int64_t i = 0; i < constant->value.size(); ++i) {
    double element = constant->value.at_f64(i);
    if (element != value || std::signbit(element) != std::signbit(value)) return false;
  }
  return true;
}

Expr unless_shape_changes(const Call& call) {
  return equal_dims(call.dims(0), call.result_dims()) ? call.arg(0) : nullptr;
}

// ---- views

Expr to_reshape(const Call& call) {
  const std::optional<Dims> from = call.dims(0), to = call.result_dims();
  if (!from || !to || !same_elements(*from, *to)) return nullptr;
  return make_op_call("reshape", {call.arg(0), make_shape(*to)});
}

Expr reshape(const Call& call) {
  const std::optional<Dims> from = call.dims(0), to = call.result_dims();
  if (!from || !to || !same_elements(*from, *to)) return nullptr;
  if (equal_dims(from, to)) return call.arg(0);
  const CallNode* inner = call.made_by(0, "reshape");
  const std::optional<Dims> source = inner ? dims_of(inner->args[0]) : std::nullopt;
  if (!source || !same_elements(*source, *from)) return nullptr;
  if (equal_dims(source, to)) return inner->args[0];
  return make_op_call("reshape", {inner->args[0], call.arg(1)});
}

// ---- permutations

bool is_identity(const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Axes counted from the front.
std::vector<int64_t> axes_of(const CallNode& permute) {
  std::vector<int64_t> axes = std::get<std::vector<int64_t>>(op::view_call(permute).attrs["axes"]);
  for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(axes.size()) : 0;
  return axes;
}

Expr permute(const Call& call) {
  std::vector<int64_t> axes = axes_of(call.node);
  if (is_identity(axes)) return call.arg(0);
  const CallNode* inner = call.made_by(0, "permute");
  if (!inner) return nullptr;
  const std::vector<int64_t> first = axes_of(*inner);
  if (first.size() != axes.size()) return nullptr;
  for (int64_t& axis : axes) axis = first.at(static_cast<size_t>(axis));
  if (is_identity(axes)) return inner->args[0];
  return make_op_call("permute", {inner->args[0]}, {{"axes", axes}});
}

// The tensor whose last two dimensions a permute swapped to make argument i.
Expr transposed_source(const Call& call, size_t i) {
  const CallNode* inner = call.made_by(i, "permute");
  if (!inner) return nullptr;
  std::vector<int64_t> axes = axes_of(*inner);
  if (axes.size() < 2) return nullptr;
  std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
  return is_identity(axes) ? inner->args[0] : nullptr;
}

Expr matmul(const Call& call) {
  Expr a = transposed_source(call, 0), b = transposed_source(call, 1);
  if (!a && !b) return nullptr;
  AttrMap attrs = call.node.attrs;
  if (a) attrs["transpose_a"] = !call.flag("transpose_a");
  if (b) attrs["transpose_b"] = !call.flag("transpose_b");
  return make_op_call("matmul", {a ? a : call.arg(0), b ? b : call.arg(1)}, std::move(attrs));
}

// ---- casts

// Whether every value of `narrow` is one of `wide`.
bool holds_all(DType wide, DType narrow) {
  auto bits = [](DType type) { return 8 * dtype_bytes(type); };
  if (is_float(wide) != is_float(narrow) || wide == DType::kBool || narrow == DType::kBool) {
    return false;
  }
  if (is_float(wide)) return bits(wide) > bits(narrow);
  const bool is_signed = is_signed_integer(wide);
  if (is_signed == is_signed_integer(narrow)) return bits(wide) >= bits(narrow);
  return is_signed && bits(wide) > bits(narrow);
}

Expr cast(const Call& call) {
  const auto to = std::get<DType>(call.attrs.at("dtype"));
  const std::optional<DType> from = call.dtype(0);
  if (!from) return nullptr;
  if (*from == to) return call.arg(0);
  const CallNode* inner = call.made_by(0, "cast");
  if (!inner || dtype_of(inner->args[0]) != to || !holds_all(*from, to)) return nullptr;
  return inner->args[0];
}

// ---- arithmetic

bool is_float_result(const Call& call) {
  const auto* tensor = as_tensor(call.result);
  return tensor && tensor->dtype && is_float(*tensor->dtype);
}

Expr multiply(const Call& call) {
  if (is_all(call.arg(1), 1)) return call.arg(0);
  return is_all(call.arg(0), 1) ? call.arg(1) : nullptr;
}

Expr divide(const Call& call) { return is_all(call.arg(1), 1) ? call.arg(0) : nullptr; }

Expr add(const Call& call) {
  const double zero = is_float_result(call) ? -0.0 : 0.0;  // 0.0 would turn -0.0 into 0.0
  if (is_all(call.arg(1), zero)) return call.arg(0);
  return is_all(call.arg(0), zero) ? call.arg(1) : nullptr;
}

Expr subtract(const Call& call) { return is_all(call.arg(1), 0.0) ? call.arg(0) : nullptr; }

Expr equal_operands(const Call& call) {
  return call.arg(0) == call.arg(1) && call.arg(0)->kind == relax::ExprKind::kVar ? call.arg(0)
                                                                                  : nullptr;
}

Expr where(const Call& call) {
  return call.arg(1) == call.arg(2) && call.arg(1)->kind == relax::ExprKind::kVar ? call.arg(1)
                                                                                  : nullptr;
}

// f(f(x)) is x.
Expr cancels(const Call& call) {
  const CallNode* inner = call.made_by(0, as<OperatorNode>(call.node.callee)->name);
  return inner ? inner->args[0] : nullptr;
}

// f(f(x)) is f(x).
Expr is_idempotent(const Call& call) {
  return call.made_by(0, as<OperatorNode>(call.node.callee)->name) ? call.arg(0) : nullptr;
}

// ---- shapes

Expr concat(const Call& call) {
  const auto* tensors = as<TupleNode>(call.arg(0));
  return tensors && tensors->fields.size() == 1 ? tensors->fields[0] : nullptr;
}

// If begin is 0 and nothing is skipped, an equal shape means equal elements.
Expr slice(const Call& call) {
  const auto* begin = as<ShapeNode>(call.arg(1));
  if (!begin) return nullptr;
  for (const PrimExpr& index : begin->dims) {
    if (!op::provably_equal(index, 0)) return nullptr;
  }
  for (int64_t stride : call.integers("strides")) {
    if (stride != 1) return nullptr;
  }
  return unless_shape_changes(call);
}

Expr unless_any(const Call& call, const char* attribute, int64_t neutral) {
  for (int64_t value : call.integers(attribute)) {
    if (value != neutral) return nullptr;
  }
  return call.arg(0);
}

Expr pad(const Call& call) { return unless_any(call, "widths", 0); }
Expr tile(const Call& call) { return unless_any(call, "repeats", 1); }
Expr repeat(const Call& call) {
  return std::get<int64_t>(call.attrs.at("repeats")) == 1 ? call.arg(0) : nullptr;
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> kRules = {
      {"reshape", reshape},
      {"flatten", to_reshape},
      {"squeeze", to_reshape},
      {"expand_dims", to_reshape},
      {"permute", permute},
      {"matmul", matmul},
      {"cast", cast},
      {"multiply", multiply},
      {"divide", divide},
      {"add", add},
      {"subtract", subtract},
      {"maximum", equal_operands},
      {"minimum", equal_operands},
      {"where", where},
      {"negative", cancels},
      {"logical_not", cancels},
      {"bitwise_not", cancels},
      {"relu", is_idempotent},
      {"abs", is_idempotent},
      {"floor", is_idempotent},
      {"ceil", is_idempotent},
      {"round", is_idempotent},
      {"trunc", is_idempotent},
      {"sign", is_idempotent},
      {"concat", concat},
      {"slice", slice},
      {"broadcast_to", unless_shape_changes},
      {"pad", pad},
      {"tile", tile},
      {"repeat", repeat},
  };
  return kRules;
}

Expr Simplifier::rewrite(const Binding& binding, bool) {
  // A cast to an annotation that the value certainly has: an atom replaces the variable, other
  // values stay.
  if (binding.match_cast) return binding.value;
  if (const auto* item = as<TupleGetItemNode>(binding.value)) {
    return tuple_field(value_of(item->tuple), item->index);
  }
  if (binding.value->kind == relax::ExprKind::kVar) return binding.value;
  const std::string& name = called_operator(binding.value);
  auto rule = rules().find(name);
  if (rule == rules().end()) return nullptr;
  const auto& call = *as<CallNode>(binding.value);
  return rule->second({*this, call, op::view_call(call).attrs, binding.var->annotation});
}

// Whether a call in the body makes the function's result.
bool computes_result(const Function& function) {
  const SeqNode& body = body_of(function);
  return std::any_of(body.blocks.begin(), body.blocks.end(), [&](const Block& block) {
    return std::any_of(block.bindings.begin(), block.bindings.end(),
                       [&](const Binding& binding) { return binding.var == body.result; });
  });
}

}  // namespace

Module simplify_graph(const Module& module) {
  Module result = module;
  const bool writes = analysis::writes_storage(module);
  for (const auto& [name, source] : graph_functions(module)) {
    FunctionRef simpler = with_body(*source, Simplifier().run(*source, module, writes));
    if (is_fused(*source) && !computes_result(*simpler)) continue;
    result.functions[name] = std::move(simpler);
  }
  return result;
}

}  // namespace tapml::passes
