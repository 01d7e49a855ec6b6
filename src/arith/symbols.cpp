#include "arith/symbols.h"

#include "ir/symbol.h"

namespace tapml::arith {

void bind_symbol(const Var& var, std::optional<int64_t> most, Analyzer& analyzer) {
  analyzer.bind(var, least_value(var), most);
}

void bind_symbols(const PrimExpr& expr, Analyzer& analyzer) {
  for (const Var& var : free_vars(expr)) bind_symbol(var, std::nullopt, analyzer);
}

Analyzer analyzer_of(std::initializer_list<PrimExpr> exprs) {
  std::vector<Var> vars;
  for (const PrimExpr& expr : exprs) {
    if (expr) collect_vars(expr, vars);
  }
  Analyzer analyzer;
  for (const Var& var : vars) bind_symbol(var, std::nullopt, analyzer);
  return analyzer;
}

}  // namespace tapml::arith
