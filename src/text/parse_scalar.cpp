// Scalar expressions.
#include <algorithm>

#include "base/suggest.h"
#include "ir/intrinsics.h"
#include "relax/symbol_ranges.h"
#include "text/operators.h"
#include "text/parser_impl.h"
#include "tir/subgroup.h"

namespace tapml::text {

namespace {

std::string known_intrinsics() {
  std::string text = "min, max, select, not, cast";
  for (const IntrinsicInfo& info : intrinsic_table()) text += std::string(", ") + info.name;
  return text;
}

std::string dtype_text(const PrimExpr& expr) { return dtype_name(expr.dtype()); }

}  // namespace

std::vector<PrimExpr> Parser::scalar_list(std::string_view close, int* depth) {
  std::vector<PrimExpr> list;
  while (!accept(close)) {
    Sized<PrimExpr> item = sized_scalar(0);
    if (depth) *depth = std::max(*depth, item.depth);
    list.push_back(std::move(item.value));
    if (!at(close) && !accept(",")) unexpected("',' or '" + std::string(close) + "'");
  }
  return list;
}

Dims Parser::dims() {
  expect("(");
  return scalar_list(")");
}

Sized<PrimExpr> Parser::sized_scalar(int strength) {
  Recursion recursion(*this, scalar_depth_);
  return at("let") ? scalar_let() : infix(strength);
}

Sized<PrimExpr> Parser::scalar_let() {
  const Token& place = expect("let");
  const Token& name = expect_name("the name of a let");
  expect(":", "the name");
  DType type = dtype();
  expect("=", "the dtype");
  Sized<PrimExpr> value = sized_scalar(0);
  if (value.value.dtype() != type) {
    fail(place, "the value of a let has a different dtype than its variable",
         std::string(dtype_name(type)) + ", not " + dtype_text(value.value));
  }
  expect("in", "the value of a let");
  Var var = make_var(name_text(name), type);
  define(name, {.scalar = var});
  Sized<PrimExpr> body = sized_scalar(0);
  // Not a separate scope: a symbolic variable that the body binds outlives it.
  scope_.close(name_text(name));
  DType result = body.value.dtype();
  return {make_node(ExprKind::kLet, result, {var, std::move(value.value), std::move(body.value)}),
          deeper(place, std::max(value.depth, body.depth))};
}

Sized<PrimExpr> Parser::infix(int strength) {
  Sized<PrimExpr> left = scalar_primary();
  bool compared = false;
  while (true) {
    const Token& token = peek();
    bool swapped = at(">") || at(">=");
    const InfixOperator* op = nullptr;
    if (token.kind == TokenKind::kSymbol || token.kind == TokenKind::kName) {
      op = swapped ? find_infix(token.text == ">" ? "<" : "<=") : find_infix(token.text);
    }
    if (!op || op->strength < strength) return left;
    if (!op->chains && compared) {
      fail(token, "comparisons do not chain", "", "put one of the two in parentheses");
    }
    compared = !op->chains;
    advance();
    Sized<PrimExpr> right = infix(op->strength + 1);
    if (left.value.dtype() != right.value.dtype()) {
      source_.fail(
          token.offset, "the operands of '" + std::string(token.text) + "' have different dtypes",
          "two operands of one dtype", dtype_text(left.value) + " and " + dtype_text(right.value),
          "a constant of another dtype than i64 is written f32(0), a conversion "
          "cast(f32, x)");
    }
    int depth = deeper(token, std::max(left.depth, right.depth));
    if (swapped) std::swap(left, right);
    left = {make_binary(op->kind, std::move(left.value), std::move(right.value)), depth};
  }
}

Sized<PrimExpr> Parser::scalar_primary() {
  const Token& token = peek();
  if (token.kind == TokenKind::kInteger || (at("-") && peek(1).kind == TokenKind::kInteger)) {
    return {make_int(integer())};
  }
  if (token.kind == TokenKind::kFloat || (at("-") && peek(1).kind == TokenKind::kFloat)) {
    fail(token, "a float constant needs its dtype", "f32(" + std::string(token.text) + ")");
  }
  if (at("true") || at("false")) return {make_bool(advance().text == "true")};
  if (accept("(")) {
    Sized<PrimExpr> inner = sized_scalar(0);
    expect(")");
    return inner;
  }
  if (auto type = peek_dtype(); type && at("(", 1)) {
    advance();
    return typed_constant(*type);
  }
  bool is_word = token.kind == TokenKind::kName || token.kind == TokenKind::kQuotedName;
  if (is_word && at("(", 1)) return scalar_call(advance());
  if (is_word && at_name()) {
    if (at("[", 1)) return buffer_load(advance());
    return {scalar_variable(advance())};
  }
  unexpected("a scalar expression");
}

Sized<PrimExpr> Parser::typed_constant(DType type) {
  expect("(");
  const Token& token = peek(at("-") ? 1 : 0);
  bool is_number = token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
                   token.text == "inf" || token.text == "nan";
  if (!is_number) {
    fail(token, "a typed constant holds a literal", "a number, inf or nan",
         std::string("a conversion is written cast(") + dtype_name(type) + ", x)");
  }
  PrimExpr value;
  if (is_float(type)) {
    value = make_float(float_literal(type), type);
  } else if (type == DType::kU64 && !at("-") && token.kind == TokenKind::kInteger) {
    value = make_int(static_cast<int64_t>(magnitude(advance())), type);
  } else {
    value = make_int(integer(), type);
  }
  expect(")", "the constant");
  return {std::move(value)};
}

Sized<PrimExpr> Parser::scalar_call(const Token& name) {
  if (name.kind == TokenKind::kQuotedName) return intrinsic(name);
  struct Form {
    std::string_view name;
    ExprKind kind;
    size_t operands;
  };
  constexpr Form kForms[] = {{"min", ExprKind::kMin, 2},
                             {"max", ExprKind::kMax, 2},
                             {"not", ExprKind::kNot, 1},
                             {"select", ExprKind::kSelect, 3},
                             {"cast", ExprKind::kCast, 1}};
  const Form* form = nullptr;
  for (const Form& candidate : kForms) {
    if (candidate.name == name.text) form = &candidate;
  }
  if (!form) return intrinsic(name);
  expect("(");
  DType type = DType::kBool;
  if (form->kind == ExprKind::kCast) {
    type = dtype();
    expect(",", "the dtype");
  }
  int depth = 0;
  std::vector<PrimExpr> operands = scalar_list(")", &depth);
  if (operands.size() != form->operands) {
    source_.fail(name.offset, "wrong number of operands of '" + std::string(name.text) + "'",
                 std::to_string(form->operands), std::to_string(operands.size()));
  }
  if (form->operands > 1) {
    const PrimExpr &a = operands[form->operands - 2], &b = operands.back();
    if (a.dtype() != b.dtype()) {
      source_.fail(name.offset,
                   "the operands of '" + std::string(name.text) + "' have different dtypes",
                   "two operands of one dtype", dtype_text(a) + " and " + dtype_text(b));
    }
    type = a.dtype();
  }
  return {make_node(form->kind, type, std::move(operands)), deeper(name, depth)};
}

Sized<PrimExpr> Parser::intrinsic(const Token& name) {
  const std::string text = name_text(name);
  const IntrinsicInfo* info = find_intrinsic(text);
  const auto subgroup = tir::find_subgroup_op(text);
  if (!info && !subgroup) {
    std::vector<std::string_view> names;
    for (const IntrinsicInfo& known : intrinsic_table()) names.emplace_back(known.name);
    fail(name, "'" + text + "' is not a scalar function", "one of " + known_intrinsics(),
         suggestion(text, names));
  }
  expect("(");
  // A result dtype that differs from the first operand's is written first.
  std::optional<DType> type;
  if (peek_dtype() && !at("(", 1)) {
    type = dtype();
    if (!at(")")) expect(",", "the dtype");
  }
  int depth = 0;
  std::vector<PrimExpr> operands = scalar_list(")", &depth);
  const size_t expected =
      info ? static_cast<size_t>(info->operands) : tir::subgroup_operands(*subgroup);
  if (operands.size() != expected) {
    source_.fail(name.offset, "wrong number of operands of '" + text + "'",
                 std::to_string(expected), std::to_string(operands.size()));
  }
  DType result = type.value_or(operands[0].dtype());
  return {make_call(text, result, std::move(operands)), deeper(name, depth)};
}

Sized<PrimExpr> Parser::buffer_load(const Token& name) {
  const tir::Buffer& source = buffer(name);
  expect("[");
  int depth = 0;
  std::vector<PrimExpr> indices = scalar_list("]", &depth);
  check_rank(name, *source, indices.size());
  return {make_node(ExprKind::kLoad, source->dtype, std::move(indices), "", source),
          deeper(name, depth)};
}

PrimExpr Parser::scalar_variable(const Token& name) {
  const Symbol* symbol = lookup(name);
  if (symbol && symbol->scalar) return symbol->scalar;
  if (symbol) {
    fail(name, "'" + name_text(name) + "' is " + symbol->kind() + " and is not allowed here",
         "a scalar variable");
  }
  if (unknown_ == UnknownScalar::kError) fail_undefined(name, "a scalar variable in scope");
  Var var = make_var(name_text(name), unknown_dtype_);
  define(name, {.scalar = var});
  if (unknown_ == UnknownScalar::kPending) pending_.push_back({&name, var});
  fresh_scalars_.push_back(var);
  return var;
}

void Parser::state_ranges(size_t mark, const std::vector<relax::Annotation>& annotations) {
  const auto first = fresh_scalars_.begin() + static_cast<std::ptrdiff_t>(mark);
  relax::state_least_values({first, fresh_scalars_.end()}, annotations);
  fresh_scalars_.resize(mark);
}

}  // namespace tapml::text
