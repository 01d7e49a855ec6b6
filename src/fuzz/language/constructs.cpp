#include "fuzz/language/constructs.h"

#include <algorithm>

#include "build/pattern.h"
#include "ir/symbol.h"
#include "passes/graph_functions.h"

namespace tapml::fuzz {

namespace {

using relax::Expr;

bool mentions(const Expr& expr, const relax::VarNode* var) {
  bool found = false;
  relax::visit(expr, [&](const Expr& e) { found |= e.get() == var; });
  return found;
}

bool mentions(const Expr& expr, const std::string& function) {
  bool found = false;
  relax::visit(expr, [&](const Expr& e) {
    const auto* global = relax::as<relax::GlobalVarNode>(e);
    found |= global && global->name == function;
  });
  return found;
}

// Whether a shape contains a variable that may be negative.
bool holds_signed(const Expr& expr) {
  const auto* shape = relax::as<relax::ShapeNode>(expr);
  if (!shape) return false;
  std::vector<Var> vars;
  for (const PrimExpr& dim : shape->dims) collect_vars(dim, vars);
  return std::any_of(vars.begin(), vars.end(), [](const Var& var) { return !least_value(var); });
}

class Finder {
 public:
  explicit Finder(std::set<std::string>& found) : found_(found) {}

  void signature(const relax::Function& function) {
    found_.insert(function.pure ? "def" : "impure def");
    bool symbolic = false;
    for (const relax::Variable& param : function.params) {
      std::vector<Var> vars;
      relax::collect_vars(param->annotation, vars);
      symbolic |= !vars.empty();
    }
    found_.insert(symbolic ? "symbolic signature" : "static signature");
  }

  void body(const Expr& body) {
    relax::visit(body, [&](const Expr& expr) { expression(expr); });
  }

 private:
  void binding(const relax::Binding& binding) {
    if (binding.match_cast) found_.insert("match_cast");
    if (!binding.origin.layers.empty()) found_.insert("origin");
    if (!binding.origin.lines.empty()) found_.insert("lines");
    if (relax::as<relax::FunctionNode>(binding.value)) {
      found_.insert(mentions(binding.value, binding.var.get()) ? "loop" : "closure");
    }
    if (relax::as<relax::GlobalVarNode>(binding.value)) found_.insert("function as a value");
  }

  void expression(const Expr& expr) {
    if (const auto* seq = relax::as<relax::SeqNode>(expr)) {
      for (const relax::Block& block : seq->blocks) {
        if (block.dataflow) found_.insert("dataflow block");
        for (const relax::Binding& one : block.bindings) binding(one);
      }
    }
    if (const auto* function = relax::as<relax::FunctionNode>(expr)) signature(*function->function);
    if (relax::as<relax::IfNode>(expr)) found_.insert("if");
    if (relax::as<relax::TupleNode>(expr)) found_.insert("tuple");
    if (relax::as<relax::TupleGetItemNode>(expr)) found_.insert("field");
    if (relax::as<relax::ShapeNode>(expr)) found_.insert("shape value");
    if (const auto* prim = relax::as<relax::PrimValueNode>(expr)) {
      found_.insert("host scalar");
      if (prim->value.is_int() && prim->value->int_value < 0) found_.insert("negative host scalar");
    }
    if (relax::as<relax::ConstantNode>(expr)) found_.insert("constant");
    const auto* call = relax::as<relax::CallNode>(expr);
    if (!call) return;
    if (const auto* op = relax::as<relax::OperatorNode>(call->callee)) {
      found_.insert(op->name);
      for (const Expr& arg : call->args) {
        if (holds_signed(arg)) found_.insert("scalar of unknown sign in " + op->name);
      }
    }
    if (relax::as<relax::GlobalVarNode>(call->callee)) found_.insert("call of a function");
    if (relax::as<relax::VarNode>(call->callee)) found_.insert("call of a function value");
    if (relax::as<relax::ExternFuncNode>(call->callee)) found_.insert("packed call");
  }

  std::set<std::string>& found_;
};

}  // namespace

std::set<std::string> constructs_of(const Module& module) {
  std::set<std::string> found;
  Finder finder(found);
  for (const auto& [name, function] : module.functions) {
    if (build::is_pattern(function.get())) found.insert("pattern");
    if (function->level == FunctionLevel::kTir) found.insert("hand-written program");
  }
  for (const auto& [name, function] : passes::graph_functions(module)) {
    if (mentions(function->body, name)) found.insert("recursion");
    finder.signature(*function);
    finder.body(function->body);
  }
  return found;
}

}  // namespace tapml::fuzz
