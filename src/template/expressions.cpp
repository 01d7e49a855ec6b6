#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "template/render_depth.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

Result<Value> Renderer::eval(const Expr& expr) {
  if (expr.kind == ExprKind::kConstant) return expr.constant;
  const Depth depth(*this);
  at_ = expr.at;
  TAPML_TRY(depth.check());
  TAPML_TRY(charge(1));
  return eval_any(expr);
}

Result<Value> Renderer::eval_any(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
    case ExprKind::kNamespaceMember:
      return eval_name(expr);
    case ExprKind::kList:
    case ExprKind::kTuple:
      return eval_items(expr);
    case ExprKind::kDict:
      return eval_dict(expr);
    case ExprKind::kMember:
    case ExprKind::kSubscript:
      return eval_subscript(expr);
    case ExprKind::kSlice:
      return error("a slice stands alone", "a slice of a list or a text");
    case ExprKind::kCall:
      return eval_call(expr);
    case ExprKind::kFilter:
      return eval_filter(expr, nullptr);
    case ExprKind::kTest:
      return eval_test(expr);
    case ExprKind::kNot:
    case ExprKind::kNegative:
    case ExprKind::kPositive:
      return eval_unary(expr);
    case ExprKind::kBinary:
      return eval_binary(expr);
    case ExprKind::kConcat:
      return eval_concat(expr);
    case ExprKind::kCompare:
      return eval_compare(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return eval_logic(expr);
    case ExprKind::kCondition:
      return eval_condition(expr);
  }
  return Value();
}

Result<Value> Renderer::eval_name(const Expr& expr) {
  for (Scope* scope = scope_; scope; scope = scope->parent) {
    if (const Value* value = scope->find(expr.text)) return *value;
  }
  const auto known = variables_.find(expr.text);
  if (known != variables_.end()) return known->second;
  return Value::undefined(in_quotes(expr.text) + " is undefined");
}

Result<Value> Renderer::eval_items(const Expr& expr) {
  Items items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    TAPML_ASSIGN(Value value, eval(*item));
    items.push_back(std::move(value));
  }
  TAPML_ASSIGN(Value list, make_list(std::move(items)));
  if (expr.kind == ExprKind::kList) return list;
  return Value::tuple(list.items());
}

Result<Value> Renderer::eval_dict(const Expr& expr) {
  Members members;
  for (size_t i = 0; i + 1 < expr.items.size(); i += 2) {
    TAPML_ASSIGN(Value key, eval(*expr.items[i]));
    TAPML_ASSIGN(Value value, eval(*expr.items[i + 1]));
    TAPML_TRY(set_member(members, std::move(key), std::move(value)));
  }
  return make_dict(std::move(members));
}

Result<Value> Renderer::eval_subscript(const Expr& expr) {
  TAPML_ASSIGN(const Value value, eval(*expr.items[0]));
  if (expr.kind == ExprKind::kMember) {
    at_ = expr.at;
    return member(value, expr.text);
  }
  if (expr.items[1]->kind == ExprKind::kSlice) return eval_slice(value, *expr.items[1]);
  TAPML_ASSIGN(const Value key, eval(*expr.items[1]));
  at_ = expr.at;
  return subscript(value, key);
}

Result<Value> Renderer::eval_slice(const Value& value, const Expr& slice) {
  std::optional<int64_t> bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!slice.items[i]) continue;
    TAPML_ASSIGN(const Value bound, eval(*slice.items[i]));
    at_ = slice.items[i]->at;
    if (bound.is_none()) continue;
    if (!bound.is_integral()) return type_error("a bound of a slice", "an integer", bound);
    bounds[i] = bound.as_integer();
  }
  at_ = slice.at;
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_string() && (!value.is_sequence() || value.view_name())) {
    return type_error("what is sliced", "a list or a text", value);
  }
  TAPML_ASSIGN(const int64_t length, length_of(value));
  const int64_t step = bounds[2].value_or(1);
  if (step == 0) return error("the step of a slice is 0", "another integer", "0");
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
  const auto place = [&](std::optional<int64_t> bound, int64_t fallback) {
    if (!bound) return fallback;
    const int64_t at = *bound < 0 ? (*bound < -length ? low : *bound + length) : *bound;
    return std::clamp(at, low, high);
  };
  const int64_t start = place(bounds[0], step < 0 ? high : low);
  const int64_t stop = place(bounds[1], step < 0 ? low : high);
  if (value.is_string() && step == 1) {
    if (stop <= start) return Value::string("");
    const std::string& text = value.text();
    const size_t begin = byte_of(text, start);
    const std::string_view rest = std::string_view(text).substr(begin);
    return make_text(std::string(rest.substr(0, byte_of(rest, stop - start))));
  }
  TAPML_ASSIGN(const Items items, items_of(value));
  Items taken;
  // A step far beyond the length cannot overflow: it takes one item.
  const int64_t stride = std::clamp(step, -length - 1, length + 1);
  for (int64_t i = start; step < 0 ? i > stop : i < stop; i += stride) {
    taken.push_back(items[static_cast<size_t>(i)]);
  }
  if (value.is_string()) {
    std::string text;
    for (const Value& item : taken) text += item.text();
    return make_text(std::move(text));
  }
  TAPML_ASSIGN(Value list, make_list(std::move(taken)));
  return value.is(Kind::kTuple) ? Value::tuple(list.items()) : list;
}

Result<Arguments> Renderer::eval_arguments(const ArgumentList& list) {
  Arguments arguments;
  for (const ExprPtr& expr : list.positional) {
    TAPML_ASSIGN(Value value, eval(*expr));
    arguments.positional.push_back(std::move(value));
  }
  if (list.rest) {
    TAPML_ASSIGN(const Value rest, eval(*list.rest));
    TAPML_ASSIGN(Items items, items_of(rest));
    for (Value& item : items) arguments.positional.push_back(std::move(item));
  }
  for (const auto& [name, expr] : list.named) {
    TAPML_ASSIGN(Value value, eval(*expr));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (list.named_rest) {
    TAPML_ASSIGN(const Value rest, eval(*list.named_rest));
    at_ = list.named_rest->at;
    if (!rest.is_dict()) return type_error("what follows \"**\"", "a dict", rest);
    for (const auto& [key, value] : rest.members()) {
      if (!key.is_string()) return type_error("the name of an argument", "a text", key);
      arguments.named.emplace_back(key.text(), value);
    }
  }
  TAPML_TRY(charge_bytes((arguments.positional.size() + arguments.named.size()) * sizeof(Value)));
  return arguments;
}

Result<Value> Renderer::eval_call(const Expr& expr) {
  TAPML_ASSIGN(const Value callee, eval(*expr.items[0]));
  TAPML_ASSIGN(const Arguments arguments, eval_arguments(expr.arguments));
  at_ = expr.items[0]->at;
  return call(callee, arguments);
}

// `input`: what the innermost filter of a block gets.
Result<Value> Renderer::eval_filter(const Expr& expr, const Value* input) {
  const Depth depth(*this);
  TAPML_TRY(depth.check());
  Value value;
  if (!expr.items[0]) {
    value = *input;
  } else if (expr.items[0]->kind == ExprKind::kFilter) {
    TAPML_ASSIGN(value, eval_filter(*expr.items[0], input));
  } else {
    TAPML_ASSIGN(value, eval(*expr.items[0]));
  }
  TAPML_ASSIGN(const Arguments arguments, eval_arguments(expr.arguments));
  at_ = expr.at;
  TAPML_TRY(charge(1));
  return apply_filter(expr.text, value, arguments);
}

Result<Value> Renderer::eval_test(const Expr& expr) {
  TAPML_ASSIGN(const Value value, eval(*expr.items[0]));
  TAPML_ASSIGN(const Arguments arguments, eval_arguments(expr.arguments));
  at_ = expr.at;
  TAPML_ASSIGN(const bool holds, apply_test(expr.text, value, arguments));
  return Value::boolean(holds);
}

Result<Value> Renderer::eval_unary(const Expr& expr) {
  TAPML_ASSIGN(const Value value, eval(*expr.items[0]));
  if (expr.kind == ExprKind::kNot) return Value::boolean(!value.truth());
  at_ = expr.at;
  if (!value.is_number()) return type_error("what has a sign", "a number", value);
  const bool negative = expr.kind == ExprKind::kNegative;
  if (value.is(Kind::kFloat)) return Value::real(negative ? -value.as_real() : value.as_real());
  if (!negative) return Value::integer(value.as_integer());
  return integer_binary("-", 0, value.as_integer());
}

Result<Value> Renderer::eval_logic(const Expr& expr) {
  Value value;
  for (const ExprPtr& item : expr.items) {
    TAPML_ASSIGN(value, eval(*item));
    if (value.truth() == (expr.kind == ExprKind::kOr)) break;
  }
  return value;
}

Result<Value> Renderer::eval_condition(const Expr& expr) {
  TAPML_ASSIGN(const Value test, eval(*expr.items[0]));
  if (test.truth()) return eval(*expr.items[1]);
  if (expr.items[2]) return eval(*expr.items[2]);
  return Value::undefined("a condition is false, and it has no else");
}

Result<Value> Renderer::eval_concat(const Expr& expr) {
  std::string text;
  for (const ExprPtr& item : expr.items) {
    TAPML_ASSIGN(const Value value, eval(*item));
    if (value.is_string()) {
      text += value.text();
      continue;
    }
    TAPML_ASSIGN(const std::string part, str(value));
    text += part;
  }
  return make_text(std::move(text));
}

Result<Value> Renderer::eval_compare(const Expr& expr) {
  TAPML_ASSIGN(Value left, eval(*expr.items[0]));
  for (size_t i = 0; i < expr.names.size(); ++i) {
    TAPML_ASSIGN(Value right, eval(*expr.items[i + 1]));
    at_ = expr.at;
    TAPML_ASSIGN(const bool holds, compare_values(expr.names[i], left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<bool> Renderer::contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (!item.is_string()) return type_error("what is searched in a text", "a text", item);
      TAPML_TRY(charge(container.text().size() / 64));
      return container.text().find(item.text()) != std::string::npos;
    case Kind::kDict:
      if (!item.is_hashable()) return type_error("a key", "a text or a number", item);
      TAPML_TRY(charge(container.members().size() / 8));
      for (const auto& member : container.members()) {
        if (item.is(Kind::kTuple)) TAPML_TRY(charge_comparison(member.first, item));
      }
      return container.find(item) != nullptr;
    default: {
      TAPML_ASSIGN(const Items items, items_of(container));
      for (const Value& one : items) {
        TAPML_TRY(charge_comparison(one, item));
        if (equal(one, item)) return true;
      }
      return false;
    }
  }
}

Result<bool> Renderer::compare_values(std::string_view op, const Value& a, const Value& b) {
  TAPML_TRY(charge_comparison(a, b));
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(b, a);
  if (op == "not in") {
    TAPML_ASSIGN(const bool inside, contains(b, a));
    return !inside;
  }
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  const Order order = compare(a, b);
  if (order == Order::kRefused) {
    return error("two values have no order", "numbers, or texts",
                 std::string(a.type_name()) + " and " + b.type_name());
  }
  if (op == "<") return order == Order::kLess;
  if (op == ">") return order == Order::kGreater;
  if (op == "<=") return order == Order::kLess || order == Order::kEqual;
  return order == Order::kGreater || order == Order::kEqual;
}

Result<Value> Renderer::eval_binary(const Expr& expr) {
  TAPML_ASSIGN(const Value left, eval(*expr.items[0]));
  TAPML_ASSIGN(const Value right, eval(*expr.items[1]));
  at_ = expr.at;
  return binary(expr.text, left, right);
}

Result<Value> Renderer::integer_binary(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  if (op == "+") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) {
      if (a == 0) return error("a number is divided by 0", "another divisor", "0");
      return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
    }
    result = 1;
    for (int64_t i = 0; i < b && !overflows && result != 0; ++i) {
      overflows = __builtin_mul_overflow(result, a, &result);
      if (a == 1 || (a == -1 && i >= 1)) {
        result = a == 1 || b % 2 == 0 ? 1 : -1;
        break;
      }
    }
  } else {
    if (b == 0) return error("a number is divided by 0", "another divisor", "0");
    if (b == -1) {
      if (op == "%") return Value::integer(0);
      overflows = __builtin_sub_overflow(int64_t{0}, a, &result);
    } else {
      const int64_t remainder = a % b, adjust = remainder != 0 && (remainder < 0) != (b < 0);
      result = op == "%" ? remainder + (adjust ? b : 0) : a / b - adjust;
    }
  }
  if (overflows) return error("an integer is too large", "at most 9223372036854775807");
  return Value::integer(result);
}

Result<Value> Renderer::real_binary(std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") {
    const double power = std::pow(a, b);
    if (!std::isfinite(power) && std::isfinite(a) && std::isfinite(b)) {
      return error("a power has no value", "a finite result");
    }
    if (std::isnan(power)) return error("a power has no value", "a real result");
    return Value::real(power);
  }
  if (b == 0) return error("a number is divided by 0", "another divisor", "0");
  if (op == "/") return Value::real(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == "%") return Value::real(remainder == 0 ? std::copysign(0.0, b) : remainder);
  const double quotient = (a - remainder) / b;
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1;
  return Value::real(floor);
}

Result<Value> Renderer::repeated(const Value& value, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const size_t size = value.is_string() ? value.text().size() : value.items().size();
  const size_t each = value.is_string() ? 1 : sizeof(Value);
  if (size == 0 || times == 0) {
    return value.is_string()        ? Value::string("")
           : value.is(Kind::kTuple) ? Value::tuple({})
                                    : Value::list({});
  }
  const auto count = static_cast<size_t>(times);
  // Avoids an overflow of the product.
  TAPML_TRY(charge_bytes(count > options_.memory ? options_.memory + 1 : size * each * count));
  if (value.is_string()) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += value.text();
    return Value::string(std::move(text));
  }
  Items items;
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is(Kind::kTuple) ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Result<Value> Renderer::binary(std::string_view op, const Value& a, const Value& b) {
  if (op == "%" && a.is_string()) return format_percent(a.text(), b);
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) {
    if (op == "/" || a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      return real_binary(op, a.as_real(), b.as_real());
    }
    return integer_binary(op, a.as_integer(), b.as_integer());
  }
  if (op == "+" && a.is_string() && b.is_string()) {
    if (a.is_marked() == b.is_marked()) {
      TAPML_ASSIGN(Value text, make_text(a.text() + b.text()));
      return a.is_marked() ? Value::marked(text.text()) : text;
    }
    std::string joined = (a.is_marked() ? a.text() : escaped(a.text())) +
                         (b.is_marked() ? b.text() : escaped(b.text()));
    TAPML_TRY(charge_bytes(joined.size()));
    return Value::marked(std::move(joined));
  }
  if (op == "+" && a.is_sequence() && a.kind() == b.kind() && !a.view_name() && !b.view_name()) {
    Items items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    TAPML_ASSIGN(Value list, make_list(std::move(items)));
    return a.is(Kind::kTuple) ? Value::tuple(list.items()) : list;
  }
  if (op == "*") {
    const bool swapped = a.is_integral();
    const Value& many = swapped ? b : a;
    const Value& times = swapped ? a : b;
    if (times.is_integral() && (many.is_string() || (many.is_sequence() && !many.view_name()))) {
      return repeated(many, times.as_integer());
    }
  }
  return error("the operator " + in_quotes(op) + " has values of other types",
               op == "+" ? "two numbers, two texts or two lists" : "numbers",
               std::string(a.type_name()) + " and " + b.type_name(),
               op == "+" && (a.is_string() || b.is_string())
                   ? "\"~\" joins a text and a value of any type"
                   : "");
}

}  // namespace tapml::jinja
