#include "text/parser.h"

#include <algorithm>

#include "base/suggest.h"
#include "tensor/dtype.h"
#include "text/names.h"
#include "text/parser_impl.h"

namespace tapml::text {

const Token& Parser::peek(size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::advance() {
  const Token& token = peek();
  if (token.kind != TokenKind::kEnd) ++next_;
  return token;
}

bool Parser::at(std::string_view text, size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == TokenKind::kSymbol || token.kind == TokenKind::kName) && token.text == text;
}

bool Parser::accept(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

const Token& Parser::expect(std::string_view text, const char* after) {
  if (!at(text)) {
    unexpected("'" + std::string(text) + "'" + (after ? std::string(" after ") + after : ""));
  }
  return advance();
}

void Parser::fail(const Token& token, std::string message, std::string expected,
                  std::string hint) const {
  source_.fail(token.offset, std::move(message), std::move(expected), describe(token),
               std::move(hint));
}

void Parser::unexpected(std::string expected) const {
  const Token& token = peek();
  std::string hint;
  if (token.kind == TokenKind::kName && is_reserved(token.text)) {
    hint = "'" + std::string(token.text) + "' is " +
           (parse_dtype(token.text) ? "the name of a dtype" : "a keyword") +
           "; to use it as a name, write it in backquotes";
  }
  fail(token, "syntax error in a text module", std::move(expected), std::move(hint));
}

bool Parser::at_name(size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::kQuotedName ||
         (token.kind == TokenKind::kName && !is_reserved(token.text));
}

std::string Parser::name_text(const Token& token) {
  return token.kind == TokenKind::kQuotedName ? token.value : std::string(token.text);
}

const Token& Parser::expect_name(const char* what) {
  if (!at_name()) unexpected(what);
  return advance();
}

std::string Parser::expect_free_name(const char* what) {
  const Token& token = peek();
  if (token.kind != TokenKind::kName && token.kind != TokenKind::kQuotedName) unexpected(what);
  return name_text(advance());
}

void Parser::define(const Token& token, Symbol symbol) {
  std::string name = name_text(token);
  const Symbol* known = scope_.find(name);
  if (known && known->open) {
    fail(token, "the name '" + name + "' is bound twice", "a name that is not in scope",
         "it is bound at " + source_.line_and_column(known->offset));
  }
  symbol.offset = token.offset;
  scope_.define(name, std::move(symbol));
}

const Symbol* Parser::lookup(const Token& name) const {
  const Symbol* symbol = scope_.find(name_text(name));
  return symbol && (symbol->open || !options_.scoped) ? symbol : nullptr;
}

void Parser::fail_undefined(const Token& token, const char* what) const {
  const std::string name = name_text(token);
  const Symbol* ended = scope_.find(name);
  fail(token, "the name '" + name + "' is not defined here", what,
       ended ? "the scope of the one bound at " + source_.line_and_column(ended->offset) +
                   " has ended"
             : suggestion(name, scope_.open_names()));
}

Parser::Recursion::Recursion(Parser& parser, int& depth) : depth_(depth) {
  if (++depth_ > kMaxLevels) {
    --depth_;
    parser.fail_depth(parser.peek());
  }
}

int Parser::deeper(const Token& at, int depth) const {
  if (depth >= kMaxLevels) fail_depth(at);
  return depth + 1;
}

void Parser::fail_depth(const Token& at) const {
  fail(at, "the program is nested too deeply",
       "at most " + std::to_string(kMaxNesting) + " levels");
}

Module Parser::module() {
  Module module;
  std::map<std::string, size_t> first;
  if (accept("module") && at("{")) module.set_attrs(attrs());
  while (peek().kind != TokenKind::kEnd) {
    scope_.clear();
    bool is_prim = accept("prim");
    bool is_impure = !is_prim && accept("impure");
    if (!accept("def")) unexpected("'def', 'impure def' or 'prim def'");
    const Token& name_token = peek();
    std::string name = expect_free_name("the function's name");
    if (module.functions.contains(name)) {
      fail(name_token, "the function '" + name + "' is defined twice", "each function once",
           "the first one is at " + source_.line_and_column(first[name]));
    }
    function_ = name;
    first[name] = name_token.offset;
    if (options_.places) {
      options_.places->functions_[name] = {name_token.offset, name_token.offset};
    }
    if (is_prim) {
      module.functions[name] = prim_func();
    } else {
      module.functions[name] = function(!is_impure).value;
    }
  }
  return module;
}

Module parse(std::string_view source, std::string_view file_name, ParseOptions options) {
  Source text(source, file_name);
  return Parser(text, options).module();
}

}  // namespace tapml::text
