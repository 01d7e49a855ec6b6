// The parser's state and its layers: tokens and names, literals, scalars, tensor programs, graph
// level. Recursive descent, one method per rule of the grammar.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"
#include "text/lexer.h"
#include "text/parser.h"
#include "text/scope.h"
#include "tir/matrix.h"
#include "tir/prim_func.h"

namespace tapml::text {

// A tree and its depth.
template <class T>
struct Sized {
  T value;
  int depth = 1;
};

// How to treat an unknown name in a scalar expression.
enum class UnknownScalar {
  kError,
  kBind,     // it binds a symbolic variable (parameters, match_cast)
  kPending,  // the match_cast of the same binding must bind it
};

class Parser {
 public:
  Parser(const Source& source, ParseOptions options)
      : source_(source), options_(std::move(options)), tokens_(tokenize(source)) {
    if (options_.places) options_.places->reset(source.text(), source.file());
  }

  Module module();

 private:
  // Tokens (parser.cpp).
  const Token& peek(size_t ahead = 0) const;
  const Token& advance();
  bool at(std::string_view text, size_t ahead = 0) const;  // symbol or keyword
  bool accept(std::string_view text);
  const Token& expect(std::string_view text, const char* after = nullptr);
  [[noreturn]] void fail(const Token& token, std::string message, std::string expected = "",
                         std::string hint = "") const;
  // Reports a token that the grammar does not allow.
  [[noreturn]] void unexpected(std::string expected) const;

  // Names.
  bool at_name(size_t ahead = 0) const;  // a quoted name or an identifier that is not reserved
  static std::string name_text(const Token& token);
  const Token& expect_name(const char* what);      // not reserved
  std::string expect_free_name(const char* what);  // any identifier
  void define(const Token& name, Symbol symbol);
  // The visible symbol of a name; null if there is none.
  const Symbol* lookup(const Token& name) const;
  [[noreturn]] void fail_undefined(const Token& name, const char* what) const;

  // Counts recursion depth; an error if the text nests too deep.
  struct Recursion {
    Recursion(Parser& parser, int& depth);
    ~Recursion() { --depth_; }
    int& depth_;
  };
  int deeper(const Token& at, int depth) const;
  [[noreturn]] void fail_depth(const Token& at) const;

  // Literals (parse_literal.cpp).
  relax::Expr operator_named(std::string name) const {
    const op::OperatorInfo* info = options_.find_operator ? options_.find_operator(name) : nullptr;
    return relax::make_operator(std::move(name), info);
  }
  AttrMap attrs();
  tir::Requirements requirements();
  bool at_attrs() const;  // a brace that opens attributes rather than a body
  AttrValue attr_value();
  AttrValue attr_list();
  std::optional<DType> peek_dtype(size_t ahead = 0) const;
  DType dtype();
  int64_t integer();                    // signed, 64 bits
  int small_integer(const char* what);  // 0 to 2^31 - 1
  uint64_t magnitude(const Token& token) const;
  double float_literal(DType dtype);  // signed; integers too; inf, nan, nan(bits)
  // "nan(0x...)" of a float dtype, after the word nan: the bits; a plain nan has the canonical
  // ones.
  uint64_t nan_bits(DType type);
  std::string string(const char* what);
  HostTensor constant();
  HostTensor constant_elements(DType dtype, Shape shape, const Token& place);
  void constant_element(DType dtype, std::vector<std::byte>& bytes);
  HostTensor constant_from_side(DType dtype, const Shape& shape);

  // Scalars (parse_scalar.cpp).
  PrimExpr scalar() { return sized_scalar(0).value; }
  Sized<PrimExpr> sized_scalar(int strength);
  Sized<PrimExpr> infix(int strength);
  Sized<PrimExpr> scalar_primary();
  Sized<PrimExpr> scalar_let();
  Sized<PrimExpr> typed_constant(DType dtype);
  Sized<PrimExpr> scalar_call(const Token& name);
  Sized<PrimExpr> intrinsic(const Token& name);
  Sized<PrimExpr> buffer_load(const Token& name);
  PrimExpr scalar_variable(const Token& name);
  // Sets the ranges of the variables bound since index `mark` that follow from `annotations`, which
  // bind them.
  void state_ranges(size_t mark, const std::vector<relax::Annotation>& annotations);
  // Comma-separated scalars up to `close`, which is consumed.
  std::vector<PrimExpr> scalar_list(std::string_view close, int* depth = nullptr);
  Dims dims();  // "(n, 4)"

  // Tensor programs (parse_tir.cpp).
  std::shared_ptr<const tir::PrimFunc> prim_func();
  void define_scalar_params();
  tir::Buffer buffer_type(const std::string& name);
  const tir::Buffer& buffer(const Token& name);
  void check_rank(const Token& name, const tir::BufferNode& buffer, size_t indices) const;
  tir::Stmt braced_stmts();
  tir::Stmt stmts();  // up to the closing brace, which is not consumed
  tir::Stmt stmt();
  tir::Stmt loop();
  tir::Stmt block();
  tir::BlockIter block_iter();
  tir::Region region();
  std::vector<tir::Region> regions();
  tir::Stmt branch();
  tir::Stmt store();
  // Matrix operations and asynchronous copies (parse_matrix.cpp).
  struct Element {
    tir::Buffer buffer;
    std::vector<PrimExpr> indices;
  };
  Element element();
  tir::MatrixLayout matrix_layout();
  tir::Stmt matrix_operation();
  tir::Stmt matrix_store(tir::Buffer memory, std::vector<PrimExpr> indices);
  tir::Stmt call_statement();

  // Graph level (parse_relax.cpp).
  Sized<relax::FunctionRef> function(bool pure);
  Sized<relax::Annotation> annotation();
  Sized<relax::Annotation> tensor_annotation();
  Sized<relax::Annotation> shape_annotation();
  Sized<relax::Annotation> callable_annotation();
  Sized<std::vector<relax::Annotation>> annotation_list();
  bool at_annotation() const;
  Sized<relax::Expr> expr();
  Sized<relax::Expr> expr_primary();
  Sized<relax::Expr> parenthesized();
  Sized<relax::Expr> branch_expr();
  Sized<relax::Expr> call(Sized<relax::Expr> callee);
  // "{ ... <keyword> result }"
  Sized<relax::Expr> sequence(const char* result_keyword);
  int binding(relax::Block& block, std::vector<std::shared_ptr<relax::VarNode>>& bound);
  int dataflow(relax::Block& block);
  // Loops (parse_loop.cpp): bind a local recursive function; its first call is the value.
  using Bound = std::vector<std::shared_ptr<relax::VarNode>>;
  bool at_loop() const;
  Sized<relax::Expr> loop_value(const relax::Annotation& result, relax::Block& block, Bound& bound);
  struct Loop;
  void carried_values(Loop& loop);
  Sized<relax::Expr> loop_body(Loop& loop, const relax::Expr& condition);
  // The texts of "@kind(...)" after a binding.
  std::set<std::string> binding_places(std::string_view kind);
  relax::CheckNote check_note();

  const Source& source_;
  ParseOptions options_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  ScopeStack scope_;
  std::string function_;  // the function that is being parsed
  UnknownScalar unknown_ = UnknownScalar::kError;
  DType unknown_dtype_ = DType::kI64;  // of a scalar variable that is bound at its first use
  struct Pending {
    const Token* token;
    Var var;
  };
  std::vector<Pending> pending_;
  std::vector<Var> fresh_scalars_;               // of the annotations that are being parsed
  std::set<const relax::VarNode*> size_shapes_;  // variables that relax::gives_sizes() holds for
  int scalar_depth_ = 0;
  int stmt_depth_ = 0;
  int expr_depth_ = 0;
};

}  // namespace tapml::text
