// The parser's state. Internal to the component.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "template/lexer.h"
#include "template/syntax.h"

namespace tapml::jinja {

class Parser {
 public:
  Parser(std::string_view text, std::string_view source, std::vector<Token> tokens)
      : text_(text), source_(source), tokens_(std::move(tokens)) {}

  // Until a block that begins with one of `ends` (a list without text: until the end of the
  // template); that block's word is the current token.
  Result<Body> parse_body_until(const std::vector<std::string_view>& ends, uint32_t opened);

 private:
  using NodePtr = std::unique_ptr<Node>;

  // Bounds the recursion of the parser.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };
  Status check_nesting() const;

  const Token& now() const { return tokens_[position_]; }
  const Token& ahead() const {
    return tokens_[position_ + 1 < tokens_.size() ? position_ + 1 : position_];
  }
  void next() {
    if (position_ + 1 < tokens_.size()) ++position_;
  }
  bool skip_operator(std::string_view value);
  bool skip_name(std::string_view value);
  Status expect_operator(std::string_view value);
  Result<std::string> expect_name(std::string_view meaning);
  Status expect_block_end();
  std::unexpected<Error> error(uint32_t at, std::string message, std::string expected = "",
                               std::string found = "", std::string hint = "") const;
  std::unexpected<Error> unexpected_token(std::string expected) const;

  // Statements.
  Result<NodePtr> parse_statement();
  // The body of a block that `opened`, with the block that ends it.
  Result<Body> parse_block(const std::vector<std::string_view>& ends, uint32_t opened);
  Result<Body> parse_whole_block(std::string_view end, uint32_t opened);
  Result<NodePtr> parse_if(NodePtr node);
  Result<NodePtr> parse_for(NodePtr node);
  Result<NodePtr> parse_set(NodePtr node);
  Result<NodePtr> parse_with(NodePtr node);
  Result<NodePtr> parse_macro(NodePtr node);
  Result<NodePtr> parse_call_block(NodePtr node);
  Result<NodePtr> parse_inner(NodePtr node, NodeKind kind, std::string_view end);
  Status parse_signature(MacroSyntax& macro);
  Status parse_macro_body(MacroSyntax& macro, std::string_view end);
  Result<ExprPtr> parse_target(bool with_namespace, std::string_view end);
  Result<ExprPtr> parse_one_target(bool with_namespace);

  // Expressions.
  ExprPtr make(ExprKind kind, uint32_t at) const;
  Result<ExprPtr> done(ExprPtr expr) const;  // with its depth
  Result<ExprPtr> parse_tuple(bool with_condition, std::string_view end, bool parenthesized);
  Result<ExprPtr> parse_expression(bool with_condition = true);
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filter);
  Result<ExprPtr> parse_primary();
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr expr);
  Result<ExprPtr> parse_filters(ExprPtr expr);
  Result<ExprPtr> parse_subscript(ExprPtr expr);
  Result<ExprPtr> parse_index();
  Result<ExprPtr> parse_call(ExprPtr expr);
  Result<ArgumentList> parse_arguments();
  // The filter whose name is the current token; `expr` may be null.
  Result<ExprPtr> parse_filter(ExprPtr expr);
  Result<ExprPtr> parse_test(ExprPtr expr);
  Result<std::string> parse_dotted_name(std::string_view meaning);
  bool at_tuple_end(std::string_view end) const;

  std::string_view text_, source_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int nesting_ = 0;
  int loops_ = 0;
  std::vector<MacroSyntax*> macros_;  // around the current token
};

}  // namespace tapml::jinja
