#include "template/parser.h"

#include <algorithm>

#include "base/strings.h"
#include "template/parser_impl.h"

namespace tapml::jinja {

namespace {

constexpr int kMostNesting = 100;

}  // namespace

bool is_constant_name(std::string_view name) {
  return name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
         name == "None";
}

Status Parser::check_nesting() const {
  if (nesting_ <= kMostNesting) return {};
  return error(now().at, "the template nests too deeply", std::to_string(kMostNesting) + " levels");
}

std::unexpected<Error> Parser::error(uint32_t at, std::string message, std::string expected,
                                     std::string found, std::string hint) const {
  return fail(user_error(std::move(message), template_location(source_, text_, at),
                         std::move(expected), std::move(found), std::move(hint)));
}

std::unexpected<Error> Parser::unexpected_token(std::string expected) const {
  std::string found;
  switch (now().kind) {
    case TokenKind::kEnd:
      found = "the end of the template";
      break;
    case TokenKind::kBlockEnd:
    case TokenKind::kVariableEnd:
      found = "the end of the tag";
      break;
    case TokenKind::kString:
      found = "the text " + in_quotes(now().text);
      break;
    case TokenKind::kData:
      found = "text outside of tags";
      break;
    default:
      found = in_quotes(now().text);
  }
  return error(now().at, "the template is not valid", std::move(expected), std::move(found));
}

bool Parser::skip_operator(std::string_view value) {
  if (!now().is_operator(value)) return false;
  next();
  return true;
}

bool Parser::skip_name(std::string_view value) {
  if (!now().is_name(value)) return false;
  next();
  return true;
}

Status Parser::expect_operator(std::string_view value) {
  if (skip_operator(value)) return {};
  return unexpected_token(in_quotes(value));
}

Result<std::string> Parser::expect_name(std::string_view meaning) {
  if (now().kind != TokenKind::kName) return unexpected_token(std::string(meaning));
  std::string name = now().text;
  next();
  return name;
}

Status Parser::expect_block_end() {
  if (now().kind != TokenKind::kBlockEnd) return unexpected_token("the end of the tag, \"%}\"");
  next();
  return {};
}

Result<Body> Parser::parse_body_until(const std::vector<std::string_view>& ends, uint32_t opened) {
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  Body body;
  while (now().kind != TokenKind::kEnd) {
    auto node = std::make_unique<Node>();
    node->at = now().at;
    if (now().kind == TokenKind::kData) {
      node->text = now().text;
      next();
    } else if (now().kind == TokenKind::kVariableBegin) {
      next();
      node->kind = NodeKind::kOutput;
      TAPML_ASSIGN(ExprPtr value, parse_tuple(true, "", false));
      node->exprs.push_back(std::move(value));
      if (now().kind != TokenKind::kVariableEnd) {
        return unexpected_token("the end of the tag, \"}}\"");
      }
      next();
    } else {
      next();
      if (now().kind == TokenKind::kName && std::ranges::find(ends, now().text) != ends.end()) {
        return body;
      }
      TAPML_ASSIGN(node, parse_statement());
      TAPML_TRY(expect_block_end());
    }
    body.push_back(std::move(node));
  }
  if (ends.empty()) return body;
  return error(opened, "a block does not end", "{% " + join(ends, " %} or {% ") + " %}",
               "the end of the template");
}

Result<Body> Parser::parse_block(const std::vector<std::string_view>& ends, uint32_t opened) {
  skip_operator(":");
  TAPML_TRY(expect_block_end());
  return parse_body_until(ends, opened);
}

Result<Body> Parser::parse_whole_block(std::string_view end, uint32_t opened) {
  TAPML_ASSIGN(Body body, parse_block({end}, opened));
  next();
  return body;
}

// At the word of the block; ends at the block's end.
Result<std::unique_ptr<Node>> Parser::parse_statement() {
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  auto node = std::make_unique<Node>();
  node->at = now().at;
  TAPML_ASSIGN(const std::string word, expect_name("the name of a statement"));
  if (word == "if") return parse_if(std::move(node));
  if (word == "for") return parse_for(std::move(node));
  if (word == "set") return parse_set(std::move(node));
  if (word == "with") return parse_with(std::move(node));
  if (word == "macro") return parse_macro(std::move(node));
  if (word == "call") return parse_call_block(std::move(node));
  if (word == "generation") {
    return parse_inner(std::move(node), NodeKind::kGeneration, "endgeneration");
  }
  if (word == "filter") {
    TAPML_ASSIGN(ExprPtr filter, parse_filter(nullptr));
    while (skip_operator("|")) {
      TAPML_ASSIGN(filter, parse_filter(std::move(filter)));
    }
    node->exprs.push_back(std::move(filter));
    return parse_inner(std::move(node), NodeKind::kFilter, "endfilter");
  }
  if (word == "print") {
    node->kind = NodeKind::kOutput;
    while (now().kind != TokenKind::kBlockEnd) {
      if (!node->exprs.empty()) TAPML_TRY(expect_operator(","));
      TAPML_ASSIGN(ExprPtr value, parse_expression());
      node->exprs.push_back(std::move(value));
    }
    return node;
  }
  if (word == "break" || word == "continue") {
    if (loops_ == 0) return error(node->at, in_quotes(word) + " is not in a loop", "a loop around");
    node->kind = word == "break" ? NodeKind::kBreak : NodeKind::kContinue;
    return node;
  }
  for (const char* other : {"include", "import", "from", "extends", "block", "autoescape"}) {
    if (word != other) continue;
    return error(node->at, in_quotes(word) + " is not supported in a chat template",
                 "a template that needs no other files", in_quotes(word));
  }
  const std::string_view statement = word;
  if (statement.starts_with("end") || word == "else" || word == "elif") {
    return error(node->at, "a block ends that has not begun", "a block before it", in_quotes(word));
  }
  return error(node->at, "there is no such statement",
               "if, for, set, with, macro, call, filter, generation, print, break or continue",
               in_quotes(word));
}

Result<std::unique_ptr<Node>> Parser::parse_if(NodePtr node) {
  node->kind = NodeKind::kIf;
  while (true) {
    TAPML_ASSIGN(ExprPtr test, parse_tuple(false, "", false));
    node->exprs.push_back(std::move(test));
    TAPML_ASSIGN(Body body, parse_block({"elif", "else", "endif"}, node->at));
    node->bodies.push_back(std::move(body));
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      TAPML_ASSIGN(Body other, parse_block({"endif"}, node->at));
      node->bodies.push_back(std::move(other));
    }
    next();
    return node;
  }
}

Result<std::unique_ptr<Node>> Parser::parse_for(NodePtr node) {
  node->kind = NodeKind::kFor;
  TAPML_ASSIGN(ExprPtr target, parse_target(false, "in"));
  node->targets.push_back(std::move(target));
  if (!skip_name("in")) return unexpected_token("\"in\"");
  TAPML_ASSIGN(ExprPtr items, parse_tuple(false, "recursive", false));
  node->exprs.push_back(std::move(items));
  ExprPtr test;
  if (skip_name("if")) {
    TAPML_ASSIGN(test, parse_expression());
  }
  node->exprs.push_back(std::move(test));
  node->recursive = skip_name("recursive");
  ++loops_;
  TAPML_ASSIGN(Body body, parse_block({"endfor", "else"}, node->at));
  --loops_;
  node->bodies.push_back(std::move(body));
  node->bodies.emplace_back();
  if (skip_name("else")) {
    TAPML_ASSIGN(node->bodies[1], parse_block({"endfor"}, node->at));
  }
  next();
  return node;
}

Result<std::unique_ptr<Node>> Parser::parse_set(NodePtr node) {
  TAPML_ASSIGN(ExprPtr target, parse_target(true, ""));
  node->targets.push_back(std::move(target));
  if (skip_operator("=")) {
    node->kind = NodeKind::kSet;
    TAPML_ASSIGN(ExprPtr value, parse_tuple(true, "", false));
    node->exprs.push_back(std::move(value));
    return node;
  }
  ExprPtr filter;
  while (skip_operator("|")) {
    TAPML_ASSIGN(filter, parse_filter(std::move(filter)));
  }
  node->exprs.push_back(std::move(filter));
  return parse_inner(std::move(node), NodeKind::kSetBlock, "endset");
}

// A body whose output is not the template's own: loops around it cannot end in it.
Result<std::unique_ptr<Node>> Parser::parse_inner(NodePtr node, NodeKind kind,
                                                  std::string_view end) {
  node->kind = kind;
  const int loops = std::exchange(loops_, 0);
  TAPML_ASSIGN(Body body, parse_whole_block(end, node->at));
  loops_ = loops;
  node->bodies.push_back(std::move(body));
  return node;
}

Result<std::unique_ptr<Node>> Parser::parse_with(NodePtr node) {
  node->kind = NodeKind::kWith;
  while (now().kind != TokenKind::kBlockEnd) {
    if (!node->targets.empty()) TAPML_TRY(expect_operator(","));
    TAPML_ASSIGN(ExprPtr target, parse_target(false, ""));
    node->targets.push_back(std::move(target));
    TAPML_TRY(expect_operator("="));
    TAPML_ASSIGN(ExprPtr value, parse_expression());
    node->exprs.push_back(std::move(value));
  }
  TAPML_ASSIGN(Body body, parse_whole_block("endwith", node->at));
  node->bodies.push_back(std::move(body));
  return node;
}

Status Parser::parse_signature(MacroSyntax& macro) {
  TAPML_TRY(expect_operator("("));
  while (!now().is_operator(")")) {
    if (!macro.parameters.empty()) TAPML_TRY(expect_operator(","));
    TAPML_ASSIGN(std::string name, expect_name("the name of a parameter"));
    macro.parameters.push_back(std::move(name));
    if (skip_operator("=")) {
      TAPML_ASSIGN(ExprPtr value, parse_expression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return error(now().at, "a parameter without a default follows one with a default",
                   "a default for " + in_quotes(macro.parameters.back()));
    }
  }
  return expect_operator(")");
}

Status Parser::parse_macro_body(MacroSyntax& macro, std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(&macro);
  auto body = parse_whole_block(end, macro.at);
  macros_.pop_back();
  loops_ = loops;
  if (!body) return fail(std::move(body).error());
  macro.body = std::move(*body);
  return {};
}

Result<std::unique_ptr<Node>> Parser::parse_macro(NodePtr node) {
  node->kind = NodeKind::kMacro;
  node->macro.at = node->at;
  TAPML_ASSIGN(node->macro.name, expect_name("the name of the macro"));
  TAPML_TRY(parse_signature(node->macro));
  TAPML_TRY(parse_macro_body(node->macro, "endmacro"));
  return node;
}

Result<std::unique_ptr<Node>> Parser::parse_call_block(NodePtr node) {
  node->kind = NodeKind::kCallBlock;
  node->macro.at = node->at;
  node->macro.name = "caller";
  if (now().is_operator("(")) TAPML_TRY(parse_signature(node->macro));
  const uint32_t at = now().at;
  TAPML_ASSIGN(ExprPtr call, parse_expression());
  if (call->kind != ExprKind::kCall) {
    return error(at, "a call block does not call anything", "a call such as name(...)");
  }
  node->exprs.push_back(std::move(call));
  TAPML_TRY(parse_macro_body(node->macro, "endcall"));
  return node;
}

Result<ExprPtr> Parser::parse_one_target(bool with_namespace) {
  const Nesting nesting(*this);
  TAPML_TRY(check_nesting());
  const uint32_t at = now().at;
  if (skip_operator("(")) {
    TAPML_ASSIGN(ExprPtr inner, parse_target(with_namespace, ""));
    TAPML_TRY(expect_operator(")"));
    return inner;
  }
  if (now().kind != TokenKind::kName || is_constant_name(now().text)) {
    return unexpected_token("the name of a variable");
  }
  ExprPtr expr = make(ExprKind::kName, at);
  expr->text = now().text;
  next();
  if (with_namespace && skip_operator(".")) {
    expr->kind = ExprKind::kNamespaceMember;
    TAPML_ASSIGN(std::string member, expect_name("the name of a member"));
    expr->names.push_back(std::move(member));
  }
  return expr;
}

Result<ExprPtr> Parser::parse_target(bool with_namespace, std::string_view end) {
  ExprPtr tuple = make(ExprKind::kTuple, now().at);
  bool is_tuple = false;
  while (true) {
    if (is_tuple && (at_tuple_end(end) || now().is_operator("="))) break;
    TAPML_ASSIGN(ExprPtr one, parse_one_target(with_namespace));
    tuple->items.push_back(std::move(one));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) return std::move(tuple->items[0]);
  return done(std::move(tuple));
}

Result<Body> parse_body(std::string_view text, std::string_view source) {
  TAPML_ASSIGN(std::vector<Token> tokens, tokenize(text, source));
  return Parser(text, source, std::move(tokens)).parse_body_until({}, 0);
}

}  // namespace tapml::jinja
