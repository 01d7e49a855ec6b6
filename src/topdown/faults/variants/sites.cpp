#include "topdown/faults/variants/sites.h"

#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// The limit, because rewriting a program takes time for each variant.
constexpr int kMostVariants = 64;

// Changes the `wanted`-th node that an edit accepts; null: there are fewer.
PrimFuncRef edited_at(const PrimFunc& func, const ExprEdit& on_expr, const StmtEdit& on_stmt,
                      int wanted) {
  int count = 0;
  bool hit = false;
  auto at_site = [&]<class T>(T edited) {
    if (!edited || count++ != wanted) return T();
    hit = true;
    return edited;
  };
  auto exprs = [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) { return at_site(on_expr(e)); });
  };
  auto stmts = [&](const Stmt& s) { return at_site(on_stmt(s)); };
  auto result = std::make_shared<PrimFunc>(func);
  result->body =
      rewrite(func.body, on_expr ? ExprEdit(exprs) : nullptr, on_stmt ? StmtEdit(stmts) : nullptr);
  return hit ? result : nullptr;
}

Variants each(const PrimFunc& func, const ExprEdit& on_expr, const StmtEdit& on_stmt) {
  Variants variants;
  while (std::ssize(variants) < kMostVariants) {
    PrimFuncRef one = edited_at(func, on_expr, on_stmt, static_cast<int>(variants.size()));
    if (!one) break;
    variants.push_back(std::move(one));
  }
  return variants;
}

}  // namespace

Variants each_expr(const PrimFunc& func, const ExprEdit& edit) { return each(func, edit, {}); }
Variants each_stmt(const PrimFunc& func, const StmtEdit& edit) { return each(func, {}, edit); }

Variants everywhere(const PrimFunc& func, const ExprEdit& on_expr, const StmtEdit& on_stmt) {
  bool hit = false;
  auto noted = [&]<class T>(T edited) {
    hit |= static_cast<bool>(edited);
    return edited;
  };
  auto exprs = [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) { return noted(on_expr(e)); });
  };
  auto stmts = [&](const Stmt& s) { return noted(on_stmt(s)); };
  auto result = std::make_shared<PrimFunc>(func);
  result->body =
      rewrite(func.body, on_expr ? ExprEdit(exprs) : nullptr, on_stmt ? StmtEdit(stmts) : nullptr);
  if (!hit) return {};
  return {std::move(result)};
}

Variants each_input(const PrimFunc& func, const ExprEdit& edit) {
  Variants variants;
  for (const Param& param : func.params) {
    if (param.mode == AccessMode::kOut) continue;
    append(variants, everywhere(func,
                                [&](const PrimExpr& e) {
                                  const bool own = is_load_of(e, param.buffer);
                                  if (!own) return PrimExpr();
                                  PrimExpr edited = edit(e);
                                  return edited && !same_expr(edited, e) ? edited : PrimExpr();
                                },
                                {}));
  }
  return variants;
}

bool has_integer_load(const PrimExpr& expr) {
  return any_node(expr, [](const PrimExpr& e) {
    return e.kind() == ExprKind::kLoad && !is_float(e.dtype()) && e.dtype() != DType::kBool;
  });
}

void append(Variants& variants, Variants more) {
  for (PrimFuncRef& one : more) variants.push_back(std::move(one));
}

}  // namespace tapml::topdown::variants
