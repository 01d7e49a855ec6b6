#include "passes/memory/report.h"

#include <algorithm>
#include <map>

#include "arith/symbols.h"
#include "base/rounding.h"
#include "passes/graph_functions.h"
#include "passes/memory/sizes.h"
#include "relax/memory.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

PrimExpr in_fewest_terms(const PrimExpr& expr) { return arith::analyzer_of({expr}).simplify(expr); }

class Reader {
 public:
  explicit Reader(const Module& module) : module_(module) {}

  MemoryReport run() {
    for (const auto& [name, function] : graph_functions(module_)) read(name, *function);
    MemoryReport report;
    for (const auto& [hash, bytes] : constants_) report.constant_bytes += bytes;
    for (const auto& [index, bytes] : statics_) report.static_bytes += bytes;
    PeakFinder peaks(module_);
    for (auto& [name, memory] : functions_) {
      const CallSummary& call = peaks.of(name);
      if (call.peak) {
        memory.peak = in_fewest_terms(call.peak + (report.static_bytes + report.constant_bytes));
      }
      memory.why = call.why;
      memory.exact = call.exact;
      memory.moments = call.moments;
      report.functions.push_back(std::move(memory));
    }
    return report;
  }

 private:
  void read(const std::string& name, const Function& function) {
    FunctionMemory& memory = functions_[name];
    memory.name = name;
    memory.arguments = bytes_of_arguments(function);
    std::map<const VarNode*, size_t> storages;
    visit(function.body, [&](const Expr& e) {
      if (const auto* constant = as<ConstantNode>(e)) {
        constants_[content_hash(constant->value)] =
            round_up(static_cast<int64_t>(constant->value.bytes().size()), int64_t{16});
      }
    });
    visit_bindings(function.body, [&](const Binding& binding, bool) {
      const auto* call = as<CallNode>(binding.value);
      if (!call) return;
      const std::string& op = called_operator(binding.value);
      if (op == "memory.alloc_storage") {
        const auto* index = find_attr<int64_t>(call->attrs, kStaticAttr);
        const PrimExpr& bytes = as<ShapeNode>(call->args[0])->dims[0];
        storages[binding.var.get()] = memory.storages.size();
        memory.storages.push_back({binding.var->name, bytes, index != nullptr, {}});
        if (index && bytes.is_int())
          statics_[*index] = std::max(statics_[*index], bytes->int_value);
      } else if (op == "memory.alloc_tensor") {
        PlannedTensor tensor{binding.var->name,
                             storage_bytes(as<ShapeNode>(call->args[1])->dims,
                                           attr_or(call->attrs, "dtype", DType::kF32)),
                             0};
        if (call->args.size() > 2) tensor.offset = as<PrimValueNode>(call->args[2])->value;
        add_tensor(memory, storages, call->args[0], std::move(tensor));
      } else if (op == "call_tir_dps" && call->args.size() > 4) {
        const std::string& kernel = as<GlobalVarNode>(call->args[0])->name;
        add_tensor(memory, storages, call->args[4], {"workspace of " + kernel, {}, 0});
      } else if (const auto* global = as<GlobalVarNode>(call->callee)) {
        memory.callees.push_back(global->name);
      }
    });
  }

  static PrimExpr bytes_of_arguments(const Function& function) {
    PrimExpr sum = 0;
    for (const Variable& param : function.params) {
      const TensorAnnotation* tensor = as_tensor(param->annotation);
      if (!tensor) continue;
      if (!tensor->shape || !tensor->dtype) return {};
      PrimExpr bytes = static_cast<int64_t>(dtype_bytes(*tensor->dtype));
      for (const PrimExpr& dim : *tensor->shape) bytes = bytes * dim;
      sum = sum + bytes;
    }
    return in_fewest_terms(sum);
  }

  static void add_tensor(FunctionMemory& memory, const std::map<const VarNode*, size_t>& storages,
                         const Expr& storage, PlannedTensor tensor) {
    auto found = storages.find(as<VarNode>(storage));
    if (found == storages.end()) return;
    PlannedStorage& in = memory.storages[found->second];
    if (!tensor.bytes) tensor.bytes = in.bytes;
    in.tensors.push_back(std::move(tensor));
  }

  const Module& module_;
  std::map<std::string, FunctionMemory> functions_;
  std::map<std::string, int64_t> constants_;  // bytes by content hash
  std::map<int64_t, int64_t> statics_;        // bytes by index
};

}  // namespace

MemoryReport memory_report(const Module& planned) { return Reader(planned).run(); }

}  // namespace tapml::passes
