#include "passes/memory/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "arith/analyzer.h"
#include "passes/kernel.h"
#include "passes/memory/sizes.h"
#include "relax/memory.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

PrimExpr simplified(const PrimExpr& expr) {
  arith::Analyzer analyzer;
  for (const Var& var : free_vars(expr)) analyzer.bind(var, 0, std::nullopt);
  return analyzer.simplify(expr);
}

// A function's own storages, and whom it calls with what.
struct Own {
  FunctionMemory memory;
  PrimExpr dynamic = 0;  // bytes of the storages that are not static
  struct Call {
    std::string callee;
    std::vector<Annotation> args;
  };
  std::vector<Call> calls;
};

class Reader {
 public:
  explicit Reader(const Module& module) : module_(module) {}

  MemoryReport run() {
    for (const auto& [name, function] : module_.functions) {
      const Function* source = as_relax_function(function.get());
      if (source && !is_kernel(source)) read(name, *source);
    }
    MemoryReport report;
    for (const auto& [hash, bytes] : constants_) report.constant_bytes += bytes;
    for (const auto& [index, bytes] : statics_) report.static_bytes += bytes;
    for (auto& [name, own] : own_) {
      std::set<std::string> open;
      PrimExpr dynamic = dynamic_of(name, open);
      if (dynamic) {
        own.memory.peak = simplified(dynamic + (report.static_bytes + report.constant_bytes));
      }
      report.functions.push_back(own.memory);
    }
    return report;
  }

 private:
  void read(const std::string& name, const Function& function) {
    Own& own = own_[name];
    own.memory.name = name;
    std::map<const VarNode*, size_t> storages;
    visit(function.body, [&](const Expr& e) {
      if (const auto* constant = as<ConstantNode>(e)) {
        constants_[content_hash(constant->value)] =
            (static_cast<int64_t>(constant->value.bytes().size()) + 15) / 16 * 16;
      }
    });
    visit_bindings(function.body, [&](const Binding& binding, bool) {
      const auto* call = as<CallNode>(binding.value);
      if (!call) return;
      const std::string& op = called_operator(binding.value);
      if (op == "memory.alloc_storage") {
        const auto* index = find_attr<int64_t>(call->attrs, kStaticAttr);
        const PrimExpr& bytes = as<ShapeNode>(call->args[0])->dims[0];
        storages[binding.var.get()] = own.memory.storages.size();
        own.memory.storages.push_back({binding.var->name, bytes, index != nullptr, {}});
        if (!index) {
          own.dynamic = own.dynamic + bytes;
        } else if (bytes.is_int()) {
          statics_[*index] = std::max(statics_[*index], bytes->int_value);
        }
      } else if (op == "memory.alloc_tensor") {
        add_tensor(own, storages, call->args[0],
                   {binding.var->name, storage_bytes(as<ShapeNode>(call->args[1])->dims,
                                                     attr_or(call->attrs, "dtype", DType::kF32))});
      } else if (op == "call_tir_dps" && call->args.size() > 4) {
        const std::string& kernel = as<GlobalVarNode>(call->args[0])->name;
        add_tensor(own, storages, call->args[4], {"workspace of " + kernel, {}});
      } else if (const auto* global = as<GlobalVarNode>(call->callee)) {
        Own::Call one{global->name, {}};
        for (const Expr& arg : call->args) one.args.push_back(annotation_of(arg));
        own.memory.callees.push_back(global->name);
        own.calls.push_back(std::move(one));
      }
    });
  }

  static void add_tensor(Own& own, const std::map<const VarNode*, size_t>& storages,
                         const Expr& storage, PlannedTensor tensor) {
    auto found = storages.find(as<VarNode>(storage));
    if (found == storages.end()) return;
    PlannedStorage& in = own.memory.storages[found->second];
    if (!tensor.bytes) tensor.bytes = in.bytes;
    in.tensors.push_back(std::move(tensor));
  }

  // Over the function's own variables; null where it may be in progress more than once.
  PrimExpr dynamic_of(const std::string& name, std::set<std::string>& open) {
    auto known = dynamic_.find(name);
    if (known != dynamic_.end()) return known->second;
    if (!open.insert(name).second) return {};
    const Own& own = own_.at(name);
    PrimExpr total = own.dynamic;
    for (const Own::Call& call : own.calls) {
      const Function* callee = as_relax_function(module_.find(call.callee));
      PrimExpr more =
          callee && own_.contains(call.callee) ? dynamic_of(call.callee, open) : PrimExpr();
      if (!more) {
        total = {};
        break;
      }
      VarMap values;
      for (size_t i = 0; i < call.args.size() && i < callee->params.size(); ++i) {
        unify(callee->params[i]->annotation, call.args[i], values);
      }
      total = total + tapml::substitute(more, values);
    }
    open.erase(name);
    if (total || open.empty()) dynamic_[name] = total;
    return total;
  }

  const Module& module_;
  std::map<std::string, Own> own_;
  std::map<std::string, int64_t> constants_;  // bytes by content hash
  std::map<int64_t, int64_t> statics_;        // bytes by index
  std::map<std::string, PrimExpr> dynamic_;
};

}  // namespace

MemoryReport memory_report(const Module& planned) { return Reader(planned).run(); }

}  // namespace tapml::passes
