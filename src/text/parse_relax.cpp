// Graph level: functions, blocks, bindings, expressions.
#include <algorithm>

#include "relax/symbol_ranges.h"
#include "text/names.h"
#include "text/parser_impl.h"

namespace tapml::text {

using namespace relax;  // NOLINT: every name below is one of relax's

namespace {

template <class T>
class Restore {
 public:
  Restore(T& place, T value) : place_(place), old_(place) { place = value; }
  ~Restore() { place_ = old_; }

 private:
  T& place_;
  T old_;
};

}  // namespace

Sized<FunctionRef> Parser::function(bool pure) {
  const bool is_top = scope_.empty();
  scope_.push();
  std::vector<Variable> params;
  int depth = 0;
  const size_t mark = fresh_scalars_.size();
  expect("(", "the function's name");
  while (!accept(")")) {
    const Token& name = expect_name("a parameter's name");
    expect(":", "the parameter's name");
    Sized<Annotation> type{nullptr};
    Variable param;
    {
      Restore<UnknownScalar> binds(unknown_, UnknownScalar::kBind);
      auto node = std::make_shared<VarNode>();
      node->name = name_text(name);
      param = node;
      define(name, {.variable = param});
      type = annotation();
      node->annotation = std::move(type.value);
    }
    depth = std::max(depth, type.depth);
    params.push_back(std::move(param));
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  state_ranges(mark, relax::annotations_of(params));
  expect("->", "the parameters");
  Sized<Annotation> result{nullptr};
  {
    Restore<UnknownScalar> strict(unknown_, UnknownScalar::kError);
    if (options_.places && is_top) options_.places->functions_[function_].result = peek().offset;
    result = annotation();
  }
  AttrMap attributes;
  if (at_attrs()) attributes = attrs();
  Sized<Expr> body = sequence("return");
  scope_.pop();
  return {make_function(std::move(params), std::move(body.value), std::move(result.value),
                        std::move(attributes), pure),
          std::max({depth, result.depth, body.depth})};
}

Sized<Expr> Parser::sequence(const char* result_keyword) {
  expect("{");
  scope_.push();
  auto seq = std::make_shared<SeqNode>();
  int depth = 0;
  Bound bound;
  while (!at(result_keyword)) {
    if (accept("dataflow")) {
      seq->blocks.push_back({true, {}});
      depth = std::max(depth, dataflow(seq->blocks.back()));
    } else if (at_name()) {
      if (seq->blocks.empty() || seq->blocks.back().dataflow) seq->blocks.push_back({});
      depth = std::max(depth, binding(seq->blocks.back(), bound));
    } else {
      unexpected(std::string("a binding, 'dataflow' or '") + result_keyword + "'");
    }
  }
  expect(result_keyword);
  Sized<Expr> result = expr();
  seq->result = std::move(result.value);
  scope_.pop();
  expect("}", "the result");
  return {std::move(seq), std::max(depth, result.depth)};
}

int Parser::dataflow(Block& block) {
  expect("{");
  Bound bound;
  int depth = 0;
  while (at_name()) depth = std::max(depth, binding(block, bound));
  std::vector<VarNode*> outputs;
  if (accept("output")) {
    do {
      const Token& name = expect_name("a variable of the block");
      const Symbol* symbol = lookup(name);
      if (!symbol) fail_undefined(name, "a variable that the dataflow block binds");
      auto found = std::find_if(bound.begin(), bound.end(),
                                [&](const auto& var) { return var == symbol->variable; });
      if (found == bound.end()) {
        fail(name, "'" + name_text(name) + "' is not bound in this dataflow block");
      }
      if (std::find(outputs.begin(), outputs.end(), found->get()) != outputs.end()) {
        fail(name, "'" + name_text(name) + "' is an output twice");
      }
      outputs.push_back(found->get());
    } while (accept(","));
  }
  expect("}", "the dataflow block");
  for (const auto& var : bound) {
    var->dataflow = std::find(outputs.begin(), outputs.end(), var.get()) == outputs.end();
    const Symbol* symbol = scope_.find(var->name);
    if (var->dataflow && symbol && symbol->variable == var) scope_.close(var->name);
  }
  return depth;
}

int Parser::binding(Block& block, Bound& bound) {
  const Token& name = expect_name("a variable");
  expect(":", "the variable");
  pending_.clear();
  const size_t mark = fresh_scalars_.size();
  SourceMap::Binding place{.annotation = peek().offset};
  Sized<Annotation> type{nullptr};
  {
    // Symbolic variables that the match_cast on the right binds appear first on the left.
    Restore<UnknownScalar> later(unknown_, UnknownScalar::kPending);
    type = annotation();
  }
  std::vector<Pending> pending = std::move(pending_);
  pending_.clear();
  expect("=", "the annotation");
  place.value = peek().offset;
  if (options_.places) options_.places->add_binding(function_, name_text(name), place);
  Binding result;
  Sized<Expr> value{nullptr};
  int depth = type.depth;
  auto var = std::make_shared<VarNode>();
  var->name = name_text(name);
  var->annotation = type.value;
  // A function may call itself through the variable that it is bound to.
  const bool is_function = at("def") || (at("impure") && at("def", 1));
  if (is_function) define(name, {.variable = var});
  if (at_loop()) {
    value = loop_value(type.value, block, bound);
  } else if (accept("match_cast")) {
    expect("(");
    value = expr();
    expect(",", "the value of match_cast");
    Restore<UnknownScalar> binds(unknown_, UnknownScalar::kBind);
    Sized<Annotation> cast = annotation();
    result.match_cast = std::move(cast.value);
    depth = std::max(depth, cast.depth);
    expect(")");
    const auto* source = relax::as<VarNode>(value.value);
    const bool sizes = source ? size_shapes_.contains(source) : relax::gives_sizes(value.value);
    state_ranges(mark, {sizes ? relax::as_sizes(result.match_cast) : result.match_cast});
  } else {
    value = expr();
    if (relax::gives_sizes(value.value)) size_shapes_.insert(var.get());
  }
  fresh_scalars_.resize(mark);
  std::vector<Var> cast_vars;
  collect_vars(result.match_cast, cast_vars);
  for (const Pending& unknown : pending) {
    if (std::none_of(cast_vars.begin(), cast_vars.end(),
                     [&](const Var& var) { return var.same_as(unknown.var); })) {
      fail(*unknown.token, "the symbolic variable '" + unknown.var->name + "' is not defined here",
           "one that a parameter or a match_cast binds");
    }
  }
  if (at("@") && at("check", 1)) result.check = check_note();
  if (at("@") && at("origin", 1)) result.origin.layers = binding_places("origin");
  if (at("@")) result.origin.lines = binding_places("lines");
  if (!is_function) define(name, {.variable = var});
  bound.push_back(var);
  result.var = std::move(var);
  result.value = std::move(value.value);
  block.bindings.push_back(std::move(result));
  return std::max(depth, value.depth);
}

relax::CheckNote Parser::check_note() {
  relax::CheckNote note;
  expect("@");
  expect("check", "'@' after a binding");
  expect("(");
  note.what = string("what is checked as a string");
  if (accept(",") && !at(")")) note.binding = string("the name of a binding as a string");
  if (accept(",") && !at(")")) note.function = string("the name of a function as a string");
  expect(")");
  return note;
}

std::set<std::string> Parser::binding_places(std::string_view kind) {
  std::set<std::string> places;
  expect("@");
  if (!at(kind)) unexpected("check, origin or lines, in this order, after '@'");
  expect(kind);
  expect("(");
  while (!accept(")")) {
    places.insert(string(kind == "origin" ? "a layer's path as a string" : "a line as a string"));
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  return places;
}

Sized<Expr> Parser::expr() {
  Recursion recursion(*this, expr_depth_);
  Sized<Expr> value = expr_primary();
  while (true) {
    const Token& token = peek();
    if (at("(")) {
      value = call(std::move(value));
    } else if (accept("[")) {
      int index = small_integer("the index of a tuple's field");
      expect("]");
      value = {make_get_item(std::move(value.value), index), deeper(token, value.depth)};
    } else {
      return value;
    }
  }
}

Sized<Expr> Parser::call(Sized<Expr> callee) {
  const Token& place = expect("(");
  int depth = callee.depth;
  std::vector<Expr> args;
  std::vector<Annotation> annotations;
  while (!accept(")")) {
    if (at_annotation()) {
      Sized<Annotation> type = annotation();
      depth = std::max(depth, type.depth);
      annotations.push_back(std::move(type.value));
    } else {
      if (!annotations.empty()) unexpected("an annotation: these come last");
      Sized<Expr> arg = expr();
      depth = std::max(depth, arg.depth);
      args.push_back(std::move(arg.value));
    }
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  AttrMap attributes;
  if (at("{")) attributes = attrs();
  return {make_call(std::move(callee.value), std::move(args), std::move(attributes),
                    std::move(annotations)),
          deeper(place, depth)};
}

Sized<Expr> Parser::parenthesized() {
  const Token& place = expect("(");
  std::vector<Expr> fields;
  int depth = 0;
  while (!accept(")")) {
    Sized<Expr> field = expr();
    depth = std::max(depth, field.depth);
    fields.push_back(std::move(field.value));
    if (at(")") && fields.size() == 1) {
      advance();
      return {std::move(fields[0]), depth};
    }
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  return {make_tuple(std::move(fields)), deeper(place, depth)};
}

Sized<Expr> Parser::branch_expr() {
  const Token& place = expect("if");
  expect("(");
  Sized<Expr> condition = expr();
  expect(")");
  Sized<Expr> then_branch = expr();
  expect("else", "the first branch");
  Sized<Expr> else_branch = expr();
  auto node = std::make_shared<IfNode>();
  node->condition = std::move(condition.value);
  node->then_branch = std::move(then_branch.value);
  node->else_branch = std::move(else_branch.value);
  return {std::move(node),
          deeper(place, std::max({condition.depth, then_branch.depth, else_branch.depth}))};
}

Sized<Expr> Parser::expr_primary() {
  const Token& token = peek();
  if (at("(")) return parenthesized();
  if (at("if")) return branch_expr();
  if (at("{")) {
    Sized<Expr> seq = sequence("yield");
    return {std::move(seq.value), deeper(token, seq.depth)};
  }
  if (at("const")) return {make_constant(constant())};
  if (accept("shape")) {
    expect("(");
    return {make_shape(scalar_list(")"))};
  }
  if (at("prim")) {
    advance();
    expect("(");
    PrimExpr value = scalar();
    expect(")");
    return {make_prim_value(std::move(value))};
  }
  if (accept("@")) return {make_global(expect_free_name("the name of a function"))};
  if (accept("extern")) return {make_extern(string("a packed function's name as a string"))};
  if (accept("op")) {
    return {operator_named(string("an operator's name as a string")), 0};
  }
  if (at("def") || at("impure")) {
    bool pure = !accept("impure");
    expect("def");
    Sized<FunctionRef> lambda = function(pure);
    auto node = std::make_shared<FunctionNode>();
    node->function = std::move(lambda.value);
    return {std::move(node), deeper(token, lambda.depth)};
  }
  bool is_word = token.kind == TokenKind::kName || token.kind == TokenKind::kQuotedName;
  bool is_call = is_word && at("(", 1);
  if (!is_word || (token.kind == TokenKind::kName &&
                   (is_call ? is_reserved_in_graph(token.text) : is_reserved(token.text)))) {
    unexpected("an expression");
  }
  advance();
  const Symbol* symbol = lookup(token);
  if (symbol && symbol->variable) return {symbol->variable};
  if (is_call && token.kind == TokenKind::kName) {
    return {operator_named(name_text(token)), 0};
  }
  if (!symbol) fail_undefined(token, "a variable in scope");
  fail(token, "'" + name_text(token) + "' is " + symbol->kind() + " and is not allowed here",
       "a graph-level variable",
       symbol->scalar ? "a scalar as a value is written prim(" + name_text(token) + ")" : "");
}

}  // namespace tapml::text
