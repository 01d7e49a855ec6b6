#include <algorithm>

#include "template/render_depth.h"
#include "template/renderer.h"

namespace tapml::jinja {

Result<Renderer::Flow> Renderer::run_body(const Body& body) {
  const Depth depth(*this);
  TAPML_TRY(depth.check());
  for (const auto& node : body) {
    at_ = node->at;
    TAPML_TRY(charge(1));
    TAPML_ASSIGN(const Flow flow, run_node(*node));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Renderer::Flow> Renderer::run_node(const Node& node) {
  switch (node.kind) {
    case NodeKind::kText:
      TAPML_TRY(append(node.text));
      break;
    case NodeKind::kOutput:
      for (const ExprPtr& expr : node.exprs) {
        TAPML_ASSIGN(const Value value, eval(*expr));
        at_ = expr->at;
        TAPML_TRY(output(value));
      }
      break;
    case NodeKind::kIf:
      return run_if(node);
    case NodeKind::kFor: {
      TAPML_ASSIGN(const Value items, eval(*node.exprs[0]));
      at_ = node.exprs[0]->at;
      TAPML_TRY(run_for(node, items, 0));
      break;
    }
    case NodeKind::kSet:
      TAPML_TRY(run_set(node));
      break;
    case NodeKind::kSetBlock:
      TAPML_TRY(run_set_block(node));
      break;
    case NodeKind::kMacro:
      TAPML_TRY(charge_bytes(sizeof(Macro) + sizeof(Scope)));
      scope_->set(node.macro.name, make_macro(node.macro));
      break;
    case NodeKind::kCallBlock:
      TAPML_TRY(run_call_block(node));
      break;
    case NodeKind::kFilter:
      TAPML_TRY(run_filter_block(node));
      break;
    case NodeKind::kWith:
      return run_with(node);
    case NodeKind::kGeneration:
      TAPML_TRY(run_generation(node));
      break;
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Status Renderer::append(std::string_view text) {
  TAPML_TRY(charge_bytes(text.size()));
  if (out_->size() + text.size() > options_.output) {
    return error("the template's output is too long", std::to_string(options_.output) + " bytes",
                 "more");
  }
  out_->append(text);
  return {};
}

Status Renderer::output(const Value& value) {
  if (value.is_string()) return append(value.text());
  TAPML_ASSIGN(const std::string text, str(value));
  return append(text);
}

Result<Renderer::Flow> Renderer::run_if(const Node& node) {
  for (size_t i = 0; i < node.exprs.size(); ++i) {
    TAPML_ASSIGN(const Value test, eval(*node.exprs[i]));
    if (test.truth()) return run_body(node.bodies[i]);
  }
  if (node.bodies.size() > node.exprs.size()) return run_body(node.bodies.back());
  return Flow::kNext;
}

Result<bool> Renderer::advance(LoopState& loop) {
  if (loop.after) return true;
  while (!loop.ended && loop.next < loop.items.size()) {
    const Value item = loop.items[loop.next++];
    const Expr* test = loop.filtered ? nullptr : loop.node->exprs[1].get();
    bool taken = true;
    if (test) {
      TAPML_TRY(charge(1));
      const Inner inner(*this, loop.scope);
      TAPML_TRY(assign(*loop.node->targets[0], item));
      TAPML_ASSIGN(const Value value, eval(*test));
      taken = value.truth();
    }
    if (taken) {
      loop.after = item;
      return true;
    }
  }
  return false;
}

// Reads the loop's condition for all items.
Result<int64_t> Renderer::length_of_loop(LoopState& loop) {
  if (loop.node->exprs[1] && !loop.filtered && !loop.ended) {
    Items rest;
    while (true) {
      TAPML_ASSIGN(const bool more, advance(loop));
      if (!more) break;
      rest.push_back(std::move(*loop.after));
      loop.after.reset();
    }
    // What is left has passed the condition.
    const int64_t length = loop.index0 + 1 + std::ssize(rest);
    loop.items = std::move(rest);
    loop.next = 0;
    loop.filtered = true;
    return length;
  }
  return loop.index0 + 1 + (loop.after ? 1 : 0) +
         static_cast<int64_t>(loop.items.size() - loop.next);
}

Status Renderer::run_for(const Node& node, const Value& items, int depth0) {
  const Depth depth(*this);
  TAPML_TRY(depth.check());
  loops_.push_back(std::make_unique<LoopState>());
  LoopState& loop = *loops_.back();
  TAPML_TRY(charge_bytes(sizeof(LoopState)));
  loop.node = &node;
  loop.scope = scope_;
  loop.depth0 = depth0;
  TAPML_ASSIGN(loop.items, items_of(items));
  bool finished_one = false;
  Status status;
  while (true) {
    const uint32_t at = at_;
    auto more = advance(loop);
    at_ = at;
    if (!more) {
      status = fail(std::move(more).error());
      break;
    }
    if (!*more) break;
    if (status = charge(1); !status) break;
    loop.before = std::move(loop.current);
    loop.current = std::move(*loop.after);
    loop.after.reset();
    ++loop.index0;
    const Inner inner(*this, loop.scope);
    scope_->set("loop", Value::object(Kind::kLoop, &loop));
    if (status = assign(*node.targets[0], loop.current); !status) break;
    auto flow = run_body(node.bodies[0]);
    if (!flow) {
      status = fail(std::move(flow).error());
      break;
    }
    if (*flow == Flow::kBreak) break;
    if (*flow == Flow::kNext) finished_one = true;
  }
  loop.ended = true;
  TAPML_TRY(status);
  if (finished_one || node.bodies[1].empty()) return {};
  // As in Jinja, `else` also runs if no iteration reached its end.
  const Inner inner(*this, loop.scope);
  TAPML_ASSIGN([[maybe_unused]] const Flow flow, run_body(node.bodies[1]));
  return {};
}

Status Renderer::assign(const Expr& target, Value value) {
  if (target.kind == ExprKind::kName) {
    scope_->set(target.text, std::move(value));
    return charge(1);
  }
  at_ = target.at;
  if (target.kind == ExprKind::kNamespaceMember) {
    TAPML_ASSIGN(const Value space, eval_name(target));
    if (!space.is(Kind::kNamespace)) {
      return type_error("\"" + target.text + "\", which gets a member,", "a namespace", space);
    }
    const std::string& name = target.names[0];
    if (name.starts_with('_')) {
      return error("a member of a namespace begins with \"_\"", "another name", name);
    }
    auto& members = space.object<Namespace>().members;
    const auto known =
        std::ranges::find_if(members, [&](const auto& one) { return one.first == name; });
    if (known != members.end()) {
      known->second = std::move(value);
    } else {
      members.emplace_back(name, std::move(value));
    }
    return charge(1);
  }
  TAPML_ASSIGN(const Items items, items_of(value));
  if (items.size() != target.items.size()) {
    return error("the number of values is not that of variables",
                 std::to_string(target.items.size()) + " values", std::to_string(items.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) TAPML_TRY(assign(*target.items[i], items[i]));
  return {};
}

Status Renderer::run_set(const Node& node) {
  TAPML_ASSIGN(Value value, eval(*node.exprs[0]));
  return assign(*node.targets[0], std::move(value));
}

Result<std::string> Renderer::captured(const Body& body) {
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  const bool outer_capture = std::exchange(in_capture_, true);
  auto flow = run_body(body);
  out_ = outer;
  in_capture_ = outer_capture;
  if (!flow) return fail(std::move(flow).error());
  return text;
}

Status Renderer::run_set_block(const Node& node) {
  Value value;
  {
    const Inner inner(*this, scope_);
    TAPML_ASSIGN(std::string text, captured(node.bodies[0]));
    value = Value::string(std::move(text));
    if (node.exprs[0]) {
      TAPML_ASSIGN(value, eval_filter(*node.exprs[0], &value));
    }
  }
  return assign(*node.targets[0], std::move(value));
}

Status Renderer::run_filter_block(const Node& node) {
  const Inner inner(*this, scope_);
  TAPML_ASSIGN(std::string text, captured(node.bodies[0]));
  const Value input = Value::string(std::move(text));
  TAPML_ASSIGN(const Value value, eval_filter(*node.exprs[0], &input));
  return output(value);
}

Status Renderer::run_generation(const Node& node) {
  const Inner inner(*this, scope_);
  const size_t begin = out_->size();
  TAPML_ASSIGN([[maybe_unused]] const Flow flow, run_body(node.bodies[0]));
  if (!in_capture_) generated_.emplace_back(begin, out_->size());
  return {};
}

Result<Renderer::Flow> Renderer::run_with(const Node& node) {
  std::vector<Value> values;
  for (const ExprPtr& expr : node.exprs) {
    TAPML_ASSIGN(Value value, eval(*expr));
    values.push_back(std::move(value));
  }
  const Inner inner(*this, scope_);
  for (size_t i = 0; i < values.size(); ++i) TAPML_TRY(assign(*node.targets[i], values[i]));
  return run_body(node.bodies[0]);
}

Value Renderer::make_macro(const MacroSyntax& syntax) {
  for (Scope* scope = scope_; scope && !scope->kept; scope = scope->parent) scope->kept = true;
  macros_.push_back(std::make_unique<Macro>(Macro{&syntax, scope_}));
  return Value::object(Kind::kMacro, macros_.back().get());
}

Status Renderer::run_call_block(const Node& node) {
  const Expr& expr = *node.exprs[0];
  TAPML_TRY(charge_bytes(sizeof(Macro) + sizeof(Scope)));
  TAPML_ASSIGN(const Value callee, eval(*expr.items[0]));
  TAPML_ASSIGN(Arguments arguments, eval_arguments(expr.arguments));
  arguments.named.emplace_back("caller", make_macro(node.macro));
  at_ = expr.at;
  TAPML_ASSIGN(const Value value, call(callee, arguments));
  at_ = expr.at;
  return output(value);
}

}  // namespace tapml::jinja
