#include <algorithm>

#include "base/strings.h"
#include "template/parser.h"
#include "template/parser_impl.h"

namespace tapml::jinja {

namespace {

// Chains of operators and members are trees, too, which are walked recursively.
constexpr int kMostTreeDepth = 200;

bool is_comparison(const Token& token) {
  for (const char* one : {"==", "!=", "<", "<=", ">", ">="}) {
    if (token.is_operator(one)) return true;
  }
  return false;
}

int depth_of(const ExprPtr& expr) { return expr ? expr->depth : 0; }

}  // namespace

ExprPtr Parser::make(ExprKind kind, uint32_t at) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  return expr;
}

Result<ExprPtr> Parser::done(ExprPtr expr) const {
  int depth = 0;
  for (const ExprPtr& item : expr->items) depth = std::max(depth, depth_of(item));
  for (const ExprPtr& item : expr->arguments.positional) depth = std::max(depth, depth_of(item));
  for (const auto& [name, item] : expr->arguments.named) depth = std::max(depth, depth_of(item));
  depth = std::max({depth, depth_of(expr->arguments.rest), depth_of(expr->arguments.named_rest)});
  expr->depth = depth + 1;
  if (expr->depth > kMostTreeDepth) {
    return error(expr->at, "an expression is too long",
                 "at most " + std::to_string(kMostTreeDepth) + " operators in one another");
  }
  return expr;
}

bool Parser::at_tuple_end(std::string_view end) const {
  return now().kind == TokenKind::kVariableEnd || now().kind == TokenKind::kBlockEnd ||
         now().is_operator(")") || (!end.empty() && now().is_name(end));
}

Result<ExprPtr> Parser::parse_tuple(bool with_condition, std::string_view end, bool parenthesized) {
  ExprPtr tuple = make(ExprKind::kTuple, now().at);
  bool is_tuple = false;
  while (!at_tuple_end(end)) {
    TAPML_ASSIGN(ExprPtr item, parse_expression(with_condition));
    tuple->items.push_back(std::move(item));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!tuple->items.empty()) return std::move(tuple->items[0]);
    if (!parenthesized) return unexpected_token("an expression");
  }
  return done(std::move(tuple));
}

Result<ExprPtr> Parser::parse_expression(bool with_condition) {
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  TAPML_ASSIGN(ExprPtr value, parse_or());
  while (with_condition && now().is_name("if")) {
    ExprPtr condition = make(ExprKind::kCondition, now().at);
    next();
    TAPML_ASSIGN(ExprPtr test, parse_or());
    ExprPtr other;
    if (skip_name("else")) {
      TAPML_ASSIGN(other, parse_expression());
    }
    condition->items.push_back(std::move(test));
    condition->items.push_back(std::move(value));
    condition->items.push_back(std::move(other));
    TAPML_ASSIGN(value, done(std::move(condition)));
  }
  return value;
}

Result<ExprPtr> Parser::parse_or() {
  TAPML_ASSIGN(ExprPtr first, parse_and());
  if (!now().is_name("or")) return first;
  ExprPtr expr = make(ExprKind::kOr, first->at);
  expr->items.push_back(std::move(first));
  while (skip_name("or")) {
    TAPML_ASSIGN(ExprPtr item, parse_and());
    expr->items.push_back(std::move(item));
  }
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_and() {
  TAPML_ASSIGN(ExprPtr first, parse_not());
  if (!now().is_name("and")) return first;
  ExprPtr expr = make(ExprKind::kAnd, first->at);
  expr->items.push_back(std::move(first));
  while (skip_name("and")) {
    TAPML_ASSIGN(ExprPtr item, parse_not());
    expr->items.push_back(std::move(item));
  }
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_not() {
  if (!now().is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  ExprPtr expr = make(ExprKind::kNot, now().at);
  next();
  TAPML_ASSIGN(ExprPtr item, parse_not());
  expr->items.push_back(std::move(item));
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_compare() {
  TAPML_ASSIGN(ExprPtr first, parse_sum());
  ExprPtr expr = make(ExprKind::kCompare, first->at);
  expr->items.push_back(std::move(first));
  while (true) {
    if (is_comparison(now())) {
      expr->names.push_back(now().text);
      next();
    } else if (skip_name("in")) {
      expr->names.emplace_back("in");
    } else if (now().is_name("not") && ahead().is_name("in")) {
      next();
      next();
      expr->names.emplace_back("not in");
    } else {
      break;
    }
    TAPML_ASSIGN(ExprPtr item, parse_sum());
    expr->items.push_back(std::move(item));
  }
  if (expr->names.empty()) return std::move(expr->items[0]);
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_sum() {
  TAPML_ASSIGN(ExprPtr left, parse_concat());
  while (now().is_operator("+") || now().is_operator("-")) {
    ExprPtr expr = make(ExprKind::kBinary, now().at);
    expr->text = now().text;
    next();
    TAPML_ASSIGN(ExprPtr right, parse_concat());
    expr->items.push_back(std::move(left));
    expr->items.push_back(std::move(right));
    TAPML_ASSIGN(left, done(std::move(expr)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_concat() {
  TAPML_ASSIGN(ExprPtr first, parse_product());
  if (!now().is_operator("~")) return first;
  ExprPtr expr = make(ExprKind::kConcat, first->at);
  expr->items.push_back(std::move(first));
  while (skip_operator("~")) {
    TAPML_ASSIGN(ExprPtr item, parse_product());
    expr->items.push_back(std::move(item));
  }
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_product() {
  TAPML_ASSIGN(ExprPtr left, parse_power());
  while (now().is_operator("*") || now().is_operator("/") || now().is_operator("//") ||
         now().is_operator("%")) {
    ExprPtr expr = make(ExprKind::kBinary, now().at);
    expr->text = now().text;
    next();
    TAPML_ASSIGN(ExprPtr right, parse_power());
    expr->items.push_back(std::move(left));
    expr->items.push_back(std::move(right));
    TAPML_ASSIGN(left, done(std::move(expr)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_power() {
  TAPML_ASSIGN(ExprPtr left, parse_unary(true));
  while (now().is_operator("**")) {
    ExprPtr expr = make(ExprKind::kBinary, now().at);
    expr->text = "**";
    next();
    TAPML_ASSIGN(ExprPtr right, parse_unary(true));
    expr->items.push_back(std::move(left));
    expr->items.push_back(std::move(right));
    TAPML_ASSIGN(left, done(std::move(expr)));
  }
  return left;
}

Result<ExprPtr> Parser::parse_unary(bool with_filter) {
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  ExprPtr expr;
  if (now().is_operator("-") || now().is_operator("+")) {
    expr = make(now().is_operator("-") ? ExprKind::kNegative : ExprKind::kPositive, now().at);
    next();
    TAPML_ASSIGN(ExprPtr item, parse_unary(false));
    expr->items.push_back(std::move(item));
    TAPML_ASSIGN(expr, done(std::move(expr)));
  } else {
    TAPML_ASSIGN(expr, parse_primary());
  }
  TAPML_ASSIGN(expr, parse_postfix(std::move(expr)));
  if (!with_filter) return expr;
  return parse_filters(std::move(expr));
}

Result<ExprPtr> Parser::parse_primary() {
  const Token& token = now();
  ExprPtr expr = make(ExprKind::kConstant, token.at);
  switch (token.kind) {
    case TokenKind::kName:
      if (token.text == "true" || token.text == "True") {
        expr->constant = Value::boolean(true);
      } else if (token.text == "false" || token.text == "False") {
        expr->constant = Value::boolean(false);
      } else if (is_constant_name(token.text)) {
        expr->constant = Value::none();
      } else {
        expr->kind = ExprKind::kName;
        expr->text = token.text;
        for (MacroSyntax* macro : macros_) {
          macro->takes_caller |= token.text == "caller";
          macro->takes_rest |= token.text == "varargs";
          macro->takes_named_rest |= token.text == "kwargs";
        }
      }
      next();
      return expr;
    case TokenKind::kString: {
      std::string text;
      while (now().kind == TokenKind::kString) {
        text += now().text;
        next();
      }
      expr->constant = Value::string(std::move(text));
      return expr;
    }
    case TokenKind::kInteger:
      expr->constant = Value::integer(token.integer);
      next();
      return expr;
    case TokenKind::kFloat:
      expr->constant = Value::real(token.real);
      next();
      return expr;
    default:
      break;
  }
  if (skip_operator("(")) {
    TAPML_ASSIGN(ExprPtr inner, parse_tuple(true, "", true));
    TAPML_TRY(expect_operator(")"));
    return inner;
  }
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  return unexpected_token("an expression");
}

Result<ExprPtr> Parser::parse_list() {
  ExprPtr expr = make(ExprKind::kList, now().at);
  next();
  while (!now().is_operator("]")) {
    if (!expr->items.empty()) TAPML_TRY(expect_operator(","));
    if (now().is_operator("]")) break;
    TAPML_ASSIGN(ExprPtr item, parse_expression());
    expr->items.push_back(std::move(item));
  }
  next();
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_dict() {
  ExprPtr expr = make(ExprKind::kDict, now().at);
  next();
  while (!now().is_operator("}")) {
    if (!expr->items.empty()) TAPML_TRY(expect_operator(","));
    if (now().is_operator("}")) break;
    TAPML_ASSIGN(ExprPtr key, parse_expression());
    TAPML_TRY(expect_operator(":"));
    TAPML_ASSIGN(ExprPtr value, parse_expression());
    expr->items.push_back(std::move(key));
    expr->items.push_back(std::move(value));
  }
  next();
  return done(std::move(expr));
}

Result<ExprPtr> Parser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (now().is_operator(".") || now().is_operator("[")) {
      TAPML_ASSIGN(expr, parse_subscript(std::move(expr)));
    } else if (now().is_operator("(")) {
      TAPML_ASSIGN(expr, parse_call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> Parser::parse_filters(ExprPtr expr) {
  while (true) {
    if (skip_operator("|")) {
      TAPML_ASSIGN(expr, parse_filter(std::move(expr)));
    } else if (now().is_name("is")) {
      TAPML_ASSIGN(expr, parse_test(std::move(expr)));
    } else if (now().is_operator("(")) {
      TAPML_ASSIGN(expr, parse_call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr expr) {
  const uint32_t at = now().at;
  if (skip_operator(".")) {
    ExprPtr member = make(ExprKind::kMember, at);
    if (now().kind == TokenKind::kInteger) {
      member->kind = ExprKind::kSubscript;
      ExprPtr index = make(ExprKind::kConstant, now().at);
      index->constant = Value::integer(now().integer);
      next();
      member->items.push_back(std::move(expr));
      member->items.push_back(std::move(index));
      return done(std::move(member));
    }
    TAPML_ASSIGN(member->text, expect_name("a name or a number after \".\""));
    member->items.push_back(std::move(expr));
    return done(std::move(member));
  }
  next();
  ExprPtr subscript = make(ExprKind::kSubscript, at);
  subscript->items.push_back(std::move(expr));
  ExprPtr tuple = make(ExprKind::kTuple, now().at);
  while (!now().is_operator("]")) {
    if (!tuple->items.empty()) TAPML_TRY(expect_operator(","));
    TAPML_ASSIGN(ExprPtr index, parse_index());
    tuple->items.push_back(std::move(index));
  }
  next();
  if (tuple->items.size() == 1) {
    subscript->items.push_back(std::move(tuple->items[0]));
  } else {
    TAPML_ASSIGN(tuple, done(std::move(tuple)));
    subscript->items.push_back(std::move(tuple));
  }
  return done(std::move(subscript));
}

Result<ExprPtr> Parser::parse_index() {
  ExprPtr slice = make(ExprKind::kSlice, now().at);
  ExprPtr start;
  if (!now().is_operator(":")) {
    TAPML_ASSIGN(start, parse_expression());
    if (!now().is_operator(":")) return start;
  }
  slice->items.push_back(std::move(start));
  while (slice->items.size() < 3 && skip_operator(":")) {
    ExprPtr part;
    if (!now().is_operator(":") && !now().is_operator("]") && !now().is_operator(",")) {
      TAPML_ASSIGN(part, parse_expression());
    }
    slice->items.push_back(std::move(part));
  }
  slice->items.resize(3);
  return done(std::move(slice));
}

Result<ArgumentList> Parser::parse_arguments() {
  ArgumentList list;
  const uint32_t at = now().at;
  TAPML_TRY(expect_operator("("));
  bool first = true;
  while (!now().is_operator(")")) {
    if (!first) TAPML_TRY(expect_operator(","));
    if (now().is_operator(")")) break;
    first = false;
    bool in_order = true;
    if (skip_operator("**")) {
      in_order = !list.named_rest;
      TAPML_ASSIGN(list.named_rest, parse_expression());
    } else if (skip_operator("*")) {
      in_order = !list.rest && !list.named_rest;
      TAPML_ASSIGN(list.rest, parse_expression());
    } else if (now().kind == TokenKind::kName && ahead().is_operator("=")) {
      in_order = !list.named_rest;
      std::string name = now().text;
      next();
      next();
      TAPML_ASSIGN(ExprPtr value, parse_expression());
      list.named.emplace_back(std::move(name), std::move(value));
    } else {
      in_order = !list.rest && !list.named_rest && list.named.empty();
      TAPML_ASSIGN(ExprPtr value, parse_expression());
      list.positional.push_back(std::move(value));
    }
    if (!in_order) {
      return error(at, "the arguments of a call are in another order than they may be",
                   "values, name=value, *values, **values");
    }
  }
  next();
  return list;
}

Result<ExprPtr> Parser::parse_call(ExprPtr expr) {
  ExprPtr call = make(ExprKind::kCall, now().at);
  call->items.push_back(std::move(expr));
  TAPML_ASSIGN(call->arguments, parse_arguments());
  return done(std::move(call));
}

Result<std::string> Parser::parse_dotted_name(std::string_view meaning) {
  TAPML_ASSIGN(std::string name, expect_name(meaning));
  while (skip_operator(".")) {
    TAPML_ASSIGN(const std::string more, expect_name(meaning));
    name += "." + more;
  }
  return name;
}

Result<ExprPtr> Parser::parse_filter(ExprPtr expr) {
  ExprPtr filter = make(ExprKind::kFilter, now().at);
  filter->items.push_back(std::move(expr));
  TAPML_ASSIGN(filter->text, parse_dotted_name("the name of a filter"));
  if (now().is_operator("(")) {
    TAPML_ASSIGN(filter->arguments, parse_arguments());
  }
  return done(std::move(filter));
}

Result<ExprPtr> Parser::parse_test(ExprPtr expr) {
  ExprPtr test = make(ExprKind::kTest, now().at);
  next();
  const bool negated = skip_name("not");
  test->items.push_back(std::move(expr));
  TAPML_ASSIGN(test->text, parse_dotted_name("the name of a test"));
  const Token& token = now();
  if (token.is_operator("(")) {
    TAPML_ASSIGN(test->arguments, parse_arguments());
  } else if ((token.kind == TokenKind::kName || token.kind == TokenKind::kString ||
              token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
              token.is_operator("[") || token.is_operator("{")) &&
             !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
    if (token.is_name("is")) return unexpected_token("one test only");
    TAPML_ASSIGN(ExprPtr argument, parse_primary());
    TAPML_ASSIGN(argument, parse_postfix(std::move(argument)));
    test->arguments.positional.push_back(std::move(argument));
  }
  TAPML_ASSIGN(test, done(std::move(test)));
  if (!negated) return test;
  ExprPtr expr_not = make(ExprKind::kNot, test->at);
  expr_not->items.push_back(std::move(test));
  return done(std::move(expr_not));
}

}  // namespace tapml::jinja
