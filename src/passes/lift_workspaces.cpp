#include "passes/lift_workspaces.h"

#include <map>
#include <string>

#include "arith/symbols.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about the graph level

namespace {

// Null if the call needs no workspace or already has one.
Expr with_workspace(const Module& module, const Expr& value,
                    const std::map<std::string, PrimExpr>& bytes) {
  if (!is_call_tir(value)) return nullptr;
  const auto& call = *as<CallNode>(value);
  auto found = bytes.find(call_tir_callee(call));
  if (found == bytes.end() || call.args.size() > 3) return nullptr;
  const tir::PrimFunc& func = kernel_implementation(module, found->first);
  std::vector<Annotation> annotations;
  for (const Expr& arg : call_tir_args(call)) annotations.push_back(annotation_of(arg));
  std::vector<PrimExpr> values = scalar_values(func, annotations, call_tir_symbols(call));
  VarMap map;
  for (size_t i = 0; i < values.size(); ++i) map[func.scalars[i].get()] = values[i];
  PrimExpr size = tapml::substitute(found->second, map);
  std::vector<Expr> args = {call.args[0], call.args[1], make_shape(call_tir_symbols(call)),
                            make_shape({arith::analyzer_of({size}).simplify(size)})};
  return make_call(call.callee, std::move(args), call.attrs, call.annotations);
}

}  // namespace

PrimExpr workspace_bytes_of(const tir::PrimFunc& func) {
  PrimExpr total;
  for (tir::Stmt stmt = func.body; stmt && stmt->kind == tir::StmtKind::kAlloc;) {
    const auto& alloc = tir::as<tir::AllocNode>(stmt);
    if (alloc.buffer->scope == tir::Scope::kGlobal) {
      PrimExpr bytes = round_up(
          tir::buffer_size(alloc.buffer) * static_cast<int64_t>(dtype_bytes(alloc.buffer->dtype)),
          kWorkspaceAlignment);
      total = total ? total + bytes : bytes;
    }
    stmt = alloc.body;
  }
  return total;
}

Module lift_workspaces(const Module& module) {
  std::map<std::string, PrimExpr> bytes;
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    const tir::PrimFunc& program = kernel_implementation(module, name);
    PrimExpr size =
        program.requirements ? program.requirements->workspace : workspace_bytes_of(program);
    if (size) bytes[name] = std::move(size);
  }
  Module result = module;
  if (bytes.empty()) return result;
  for (const auto& [name, source] : graph_functions(module)) {
    bool changed = false;
    Expr body = map_blocks(source->body, [&](const Block& block) {
      Block copy = block;
      for (Binding& binding : copy.bindings) {
        Expr lifted = with_workspace(module, binding.value, bytes);
        if (!lifted) continue;
        binding.value = std::move(lifted);
        changed = true;
      }
      return copy;
    });
    if (changed) result.functions[name] = with_body(*source, std::move(body));
  }
  return result;
}

}  // namespace tapml::passes
