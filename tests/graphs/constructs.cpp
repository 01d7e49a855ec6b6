#include "constructs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "build/pattern.h"
#include "device/cpu/library/host_library.h"
#include "ir/symbol.h"
#include "passes/graph_functions.h"

namespace tapml::testing {

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

class Counter {
 public:
  explicit Counter(Constructs& counts) : counts_(counts) {}

  void signature(const relax::Function& function) {
    ++counts_[function.pure ? "def" : "impure def"];
    bool symbolic = false;
    for (const relax::Variable& param : function.params) {
      std::vector<Var> vars;
      relax::collect_vars(param->annotation, vars);
      symbolic |= !vars.empty();
    }
    ++counts_[symbolic ? "symbolic signature" : "static signature"];
  }

  void body(const Expr& body) {
    relax::visit(body, [&](const Expr& expr) { expression(expr); });
  }

 private:
  void binding(const relax::Binding& binding) {
    if (binding.match_cast) ++counts_["match_cast"];
    if (!binding.origin.layers.empty()) ++counts_["origin"];
    if (!binding.origin.lines.empty()) ++counts_["lines"];
    if (relax::as<relax::FunctionNode>(binding.value)) {
      ++counts_[mentions(binding.value, binding.var.get()) ? "loop" : "closure"];
    }
    if (relax::as<relax::GlobalVarNode>(binding.value)) ++counts_["function as a value"];
  }

  void expression(const Expr& expr) {
    if (const auto* seq = relax::as<relax::SeqNode>(expr)) {
      for (const relax::Block& block : seq->blocks) {
        if (block.dataflow) ++counts_["dataflow block"];
        for (const relax::Binding& one : block.bindings) binding(one);
      }
    }
    if (const auto* function = relax::as<relax::FunctionNode>(expr)) signature(*function->function);
    if (relax::as<relax::IfNode>(expr)) ++counts_["if"];
    if (relax::as<relax::TupleNode>(expr)) ++counts_["tuple"];
    if (relax::as<relax::TupleGetItemNode>(expr)) ++counts_["field"];
    if (relax::as<relax::ShapeNode>(expr)) ++counts_["shape value"];
    if (const auto* prim = relax::as<relax::PrimValueNode>(expr)) {
      ++counts_["host scalar"];
      if (prim->value.is_int() && prim->value->int_value < 0) ++counts_["negative host scalar"];
    }
    if (relax::as<relax::ConstantNode>(expr)) ++counts_["constant"];
    const auto* call = relax::as<relax::CallNode>(expr);
    if (!call) return;
    if (const auto* op = relax::as<relax::OperatorNode>(call->callee)) {
      ++counts_[op->name];
      for (const Expr& arg : call->args) {
        if (holds_signed(arg)) ++counts_["scalar of unknown sign in " + op->name];
      }
    }
    if (relax::as<relax::GlobalVarNode>(call->callee)) ++counts_["call of a function"];
    if (relax::as<relax::VarNode>(call->callee)) ++counts_["call of a function value"];
    if (relax::as<relax::ExternFuncNode>(call->callee)) ++counts_["packed call"];
  }

  Constructs& counts_;
};

}  // namespace

void count_constructs(const Module& module, Constructs& counts) {
  Counter counter(counts);
  for (const auto& [name, function] : module.functions) {
    if (build::is_pattern(function.get())) ++counts["pattern"];
    if (function->level == FunctionLevel::kTir) ++counts["hand-written program"];
  }
  for (const auto& [name, function] : passes::graph_functions(module)) {
    if (mentions(function->body, name)) ++counts["recursion"];
    counter.signature(*function);
    counter.body(function->body);
  }
}

void count_matches(const Module& matched, Constructs& counts) {
  for (const auto& [name, function] : passes::graph_functions(matched)) {
    if (passes::is_fused(*function)) ++counts["cut out by a pattern"];
  }
}

void count_routines(const Executable& executable, Constructs& counts) {
  for (const Implementation& implementation : executable.implementations) {
    const std::string& provider = implementation.provider;
    if (provider.starts_with("library:")) ++counts[provider.substr(0, provider.find('.'))];
  }
}

void expect_all(const Constructs& counts, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_TRUE(counts.contains(name)) << "no program has: " << name;
  }
}

std::vector<std::string> libraries_here() {
  std::vector<std::string> names;
  for (const std::string& name : device::built_in_libraries()) {
    if (device::is_library_here(name)) names.push_back("library:" + name);
  }
  return names;
}

}  // namespace tapml::testing
