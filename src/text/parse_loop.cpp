// `for` and `while`: sugar for a local function that calls itself last.
#include <algorithm>

#include "text/parser_impl.h"

namespace tapml::text {

using namespace relax;  // NOLINT: every name below is one of relax's

struct Parser::Loop {
  Annotation result;
  std::shared_ptr<VarNode> self = std::make_shared<VarNode>();
  std::vector<Variable> params;  // the counter of a `for`, then the carried values
  std::vector<Expr> first;       // arguments of the first call
  std::vector<Expr> step;        // what the next call passes before the carried values
  std::vector<Expr> carried;
  int depth = 0;
};

bool Parser::at_loop() const {
  size_t word = at("impure") ? 1 : 0;
  return (at("for", word) && !at("(", word + 1)) || at("while", word);
}

// "(a: A = x, b: B = y)"
void Parser::carried_values(Loop& loop) {
  expect("(");
  while (!accept(")")) {
    const Token& name = expect_name("the name of a value that the loop carries");
    expect(":", "the value's name");
    UnknownScalar outer = unknown_;
    unknown_ = UnknownScalar::kBind;
    Sized<Annotation> type = annotation();
    unknown_ = outer;
    expect("=", "the annotation");
    Sized<Expr> first = expr();
    auto param = std::make_shared<VarNode>();
    param->name = name_text(name);
    param->annotation = std::move(type.value);
    define(name, {.variable = param});
    loop.depth = std::max({loop.depth, type.depth, first.depth});
    loop.params.push_back(param);
    loop.carried.push_back(param);
    loop.first.push_back(std::move(first.value));
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
}

// "{ ... yield next }" as "if (condition) { ... r = self(step, next) yield r } else { carried }".
Sized<Expr> Parser::loop_body(Loop& loop, const Expr& condition) {
  Sized<Expr> body = sequence("yield");
  auto seq = std::make_shared<SeqNode>(*as<SeqNode>(body.value));
  std::vector<Expr> args = loop.step;
  const auto* tuple = as<TupleNode>(seq->result);
  if (loop.carried.size() == 1) {
    args.push_back(seq->result);
  } else if (tuple && tuple->fields.size() == loop.carried.size()) {
    args.insert(args.end(), tuple->fields.begin(), tuple->fields.end());
  } else {
    fail(peek(), "the loop yields something other than the carried values",
         "a tuple of " + std::to_string(loop.carried.size()) + " values before this");
  }
  Variable next = make_variable("next", loop.result);
  seq->blocks.push_back({false, {{next, make_call(loop.self, std::move(args)), nullptr, {}}}});
  seq->result = next;
  auto branch = std::make_shared<IfNode>();
  branch->condition = condition;
  branch->then_branch = std::move(seq);
  branch->else_branch =
      make_seq({}, loop.carried.size() == 1 ? loop.carried[0] : make_tuple(loop.carried));
  return {std::move(branch), body.depth + 1};
}

Sized<Expr> Parser::loop_value(const Annotation& result, Block& block, Bound& bound) {
  Recursion recursion(*this, expr_depth_);
  const Token& place = peek();
  Loop loop;
  loop.result = result;
  loop.self->name = "loop";
  const bool pure = !accept("impure");
  scope_.push();
  std::vector<Block> blocks;
  Sized<Expr> branch{nullptr};
  if (accept("for")) {
    const Token& name = expect_name("the loop's variable");
    expect("in");
    if (!at("range")) unexpected("'range(extent)' or 'range(first, end)'");
    advance();
    expect("(");
    const Token& range = peek();
    PrimExpr first = 0, end = scalar();
    if (accept(",")) {
      first = std::move(end);
      end = scalar();
    }
    expect(")");
    for (const PrimExpr& bound : {first, end}) {
      if (bound.dtype() == DType::kI64) continue;
      fail(range, "the range of a loop is not of i64", "integers of i64",
           dtype_name(bound.dtype()));
    }
    Var counter = make_var(name_text(name));
    define(name, {.scalar = counter});
    loop.params.push_back(make_variable(name_text(name), prim_annotation(DType::kI64, counter)));
    loop.first.push_back(make_prim_value(first));
    loop.step.push_back(make_prim_value(counter + 1));
    carried_values(loop);
    branch = loop_body(loop, make_prim_value(lt(counter, end)));
  } else {
    expect("while");
    carried_values(loop);
    Sized<Expr> condition = sequence("yield");
    const auto* seq = as<SeqNode>(condition.value);
    blocks = seq->blocks;
    loop.depth = std::max(loop.depth, condition.depth);
    branch = loop_body(loop, seq->result);
  }
  // The function's annotation has symbolic variables of its own.
  VarMap fresh;
  for (const Var& var : scope_.scalars()) fresh[var.get()] = make_var(var->name, var.dtype());
  scope_.pop();
  std::vector<Annotation> types;
  for (const Variable& param : loop.params) types.push_back(substitute(param->annotation, fresh));
  loop.self->annotation = relax::callable_annotation(std::move(types), result, pure);
  Variable value = make_variable("value", result);
  blocks.push_back({false, {{value, std::move(branch.value), nullptr, {}}}});
  auto node = std::make_shared<FunctionNode>();
  node->function = make_function(loop.params, make_seq(std::move(blocks), value), result, {}, pure);
  block.bindings.push_back({loop.self, std::move(node), nullptr, {}});
  bound.push_back(loop.self);
  return {make_call(loop.self, std::move(loop.first)),
          deeper(place, std::max(loop.depth, branch.depth + 1))};
}

}  // namespace tapml::text
