#include "passes/common_subexpressions.h"

#include <unordered_map>
#include <utility>

#include "build/pattern.h"
#include "op/operator.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"
#include "text/printer.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class Eliminator final : public ForwardRewrite {
 public:
  explicit Eliminator(const Module& module) : module_(module) {}

 protected:
  Expr rewrite(const Binding& binding, bool) override {
    const auto* call = as<CallNode>(binding.value);
    if (!call || binding.match_cast || !is_candidate(*call)) return nullptr;
    auto [it, is_new] = known_.try_emplace(key(*call));
    if (!is_new && is_visible(it->second)) return it->second;
    // Another one is out of scope here, and this one after its own scope.
    log_.push_back({&it->first, std::exchange(it->second, binding.var)});
    return nullptr;
  }

  void enter_scope() override { scopes_.push_back(log_.size()); }
  void leave_scope() override {
    for (; log_.size() > scopes_.back(); log_.pop_back()) {
      const auto& [key, before] = log_.back();
      if (before) {
        known_.at(*key) = before;
      } else {
        known_.erase(*key);
      }
    }
    scopes_.pop_back();
  }

 private:
  // A pure call. What operators expand stays in each reader: one that several share would be
  // stored.
  bool is_candidate(const CallNode& call) const {
    if (const auto* global = as<GlobalVarNode>(call.callee)) {
      const Function* function = as_relax_function(module_.find(global->name));
      return function && function->pure;
    }
    const auto* op = as<OperatorNode>(call.callee);
    if (!op) return false;
    if (op->name == "call_tir") return true;
    const op::OperatorInfo* info = op::operator_of(*op);
    return info && info->pure && info->inout.empty() && !info->expands;
  }

  // A key that is equal for equal calls: their text, and the identity of every variable in it.
  static std::string key(const CallNode& call) {
    std::string text;
    std::vector<Var> symbols;
    auto identity = [&](const void* node) {
      text += '#' + std::to_string(reinterpret_cast<uintptr_t>(node)) + ' ';
    };
    auto add = [&](const Expr& expr) {
      text += text::print(expr) + ' ';
      visit(expr, [&](const Expr& e) {
        if (e->kind == relax::ExprKind::kVar) identity(e.get());
        if (e->kind == relax::ExprKind::kShape || e->kind == relax::ExprKind::kPrimValue) {
          collect_vars(annotation_of(e), symbols);
        }
      });
    };
    add(call.callee);
    for (const Expr& arg : call.args) add(arg);
    for (const Annotation& annotation : call.annotations) {
      text += to_string(annotation) + ' ';
      collect_vars(annotation, symbols);
    }
    text += text::print(make_call(make_operator("attributes"), {}, call.attrs));
    for (const Var& symbol : symbols) identity(symbol.get());
    return text;
  }

  const Module& module_;
  std::unordered_map<std::string, Variable> known_;
  // Keys in order, with what they had before; null: nothing.
  std::vector<std::pair<const std::string*, Variable>> log_;
  std::vector<size_t> scopes_;
};

}  // namespace

Module eliminate_common_subexpressions(const Module& module) {
  Module result = module;
  const bool writes = analysis::writes_storage(module);
  for (const auto& [name, source] : graph_functions(module)) {
    result.functions[name] = with_body(*source, Eliminator(module).run(*source, module, writes));
  }
  return result;
}

}  // namespace tapml::passes
