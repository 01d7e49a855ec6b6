// The printer's state and its three layers: scalars, tensor programs, graph level.
#pragma once

#include <string>
#include <vector>

#include "relax/expr.h"
#include "text/common.h"
#include "text/names.h"
#include "tir/matrix.h"
#include "tir/prim_func.h"

namespace tapml::text {

class Printer {
 public:
  explicit Printer(SideTensors* side) : side_(side) {}

  // Scalars (print_scalar.cpp). `outer` is the binding strength of the surrounding operator.
  void scalar(const PrimExpr& expr, int outer = 0);
  void dims(const Dims& dims);

  // Tensor programs (print_tir.cpp).
  void requirements(const tir::Requirements& requirements);
  void prim_func(const tir::PrimFunc& func, const std::string& name);
  // The statement's lines, each ended by a newline.
  void stmts(const tir::Stmt& stmt);

  // Graph level (print_relax.cpp).
  void function(const relax::Function& function, const std::string& name);
  void expr(const relax::Expr& expr);
  void annotation(const relax::Annotation& annotation);
  void binding(const relax::Binding& binding);

  std::string take() { return std::move(out_); }

 private:
  // Counts nesting for the duration of one call.
  struct Nest {
    explicit Nest(Printer& printer, int& depth);
    ~Nest() { --depth_; }
    int& depth_;
  };

  void scalars(const std::vector<PrimExpr>& list);
  void literal(const tapml::ExprNode& node);
  void binary(const PrimExpr& expr, int outer);

  void buffer_type(const tir::BufferNode& buffer);
  void buffer_access(const tir::BufferNode& buffer, const std::vector<PrimExpr>& indices);
  void region(const tir::Region& region);
  void regions(const char* keyword, const std::vector<tir::Region>& regions);
  void block(const tir::BlockNode& block);
  void loop(const tir::ForNode& loop);
  void one_stmt(const tir::Stmt& stmt, bool last);
  // Matrix operations and asynchronous copies (print_matrix.cpp).
  void matrix(const tir::MatrixNode& node);
  void async(const tir::Stmt& stmt);
  // "{", the statements indented by one step, "}" without a newline.
  void braced(const tir::Stmt& stmt);

  // The part of a function after its name.
  void signature_and_body(const relax::Function& function);
  void sequence(const relax::Expr& body, const char* result_keyword);
  void dataflow(const relax::Block& block);
  void constant(const HostTensor& value);
  void call(const relax::CallNode& call);
  void callee(const relax::Expr& callee);
  // The expression, in parentheses if a suffix would not apply to all of it.
  void base(const relax::Expr& expr);
  void annotations(const std::vector<relax::Annotation>& list);
  // "(a, b) " items, split over lines if they are long.
  void parameter_list(const std::vector<std::string>& items, const std::string& rest);

  void name_of(const void* node, const std::string& wanted) {
    out_ += format_name(names_.use(node, wanted));
  }
  void define(const void* node, const std::string& wanted) {
    out_ += format_name(names_.define(node, wanted));
  }
  void start_line() { out_.append(static_cast<size_t>(indent_) * 2, ' '); }

  SideTensors* side_;
  NameTable names_;
  std::string out_;
  int indent_ = 0;
  int scalar_depth_ = 0;
  int stmt_depth_ = 0;
  int expr_depth_ = 0;
  friend struct Nest;
};

}  // namespace tapml::text
