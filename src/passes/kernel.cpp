#include "passes/kernel.h"

#include <algorithm>
#include <cstdio>

#include "ir/exceptions.h"
#include "relax/visit.h"
#include "text/structural.h"

namespace tapml::passes {

bool is_kernel(const BaseFunction* function) {
  const auto* spec = relax::as_relax_function(function);
  return spec && spec->facts.kernel;
}

const relax::Function& kernel_spec(const Module& module, const std::string& name) {
  const BaseFunction* function = module.find(name);
  if (!is_kernel(function)) throw_internal("no kernel named " + name);
  return *relax::as_relax_function(function);
}

const tir::PrimFunc& kernel_implementation(const Module& module, const std::string& name) {
  const std::string& implementation = kernel_spec(module, name).facts.implementation;
  const tir::PrimFunc* func = tir::as_prim_func(module.find(implementation));
  if (!func) throw_internal("kernel " + name + " has no implementation");
  return *func;
}

std::vector<std::string> programs_of(const relax::Function& spec) {
  std::vector<std::string> names;
  relax::visit_bindings(spec.body, [&](const relax::Binding& binding, bool) {
    if (!relax::is_call_tir(binding.value)) return;
    const std::string& name = relax::call_tir_callee(*relax::as<relax::CallNode>(binding.value));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return names;
}

Module kernel_alone(const Module& module, const std::string& name) {
  Module alone;
  auto copy = [&](const std::string& function) {
    if (module.find(function)) alone.functions[function] = module.functions.at(function);
  };
  const relax::Function& spec = kernel_spec(module, name);
  copy(name);
  copy(spec.facts.implementation);
  for (const std::string& program : programs_of(spec)) copy(program);
  return alone;
}

namespace {

// The name of the operator, program or library routine that a binding of a spec calls.
std::string called_name(const relax::Expr& value) {
  const auto* call = relax::as<relax::CallNode>(value);
  if (relax::is_call_tir(value)) return relax::call_tir_callee(*call);
  const std::string& op = relax::called_operator(value);
  const auto* routine = op == "call_dps_library" && !call->args.empty()
                            ? relax::as<relax::ExternFuncNode>(call->args[0])
                            : nullptr;
  if (!routine) return op;
  std::string name = routine->name;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  return name;
}

}  // namespace

std::string operators_of(const relax::Function& spec) {
  constexpr size_t kLongest = 48;
  std::string text;
  relax::visit_bindings(spec.body, [&](const relax::Binding& binding, bool) {
    const std::string name = called_name(binding.value);
    if (name.empty() || text.size() > kLongest) return;
    text += (text.empty() ? "" : "_") + name;
    if (text.size() > kLongest) text += "_etc";
  });
  return text.empty() ? "identity" : text;
}

namespace {

// Identifies what a spec computes: its operators, and the programs that it calls by name.
uint64_t spec_hash(const Module& module, const relax::Function& spec) {
  uint64_t hash = text::structural_hash(spec);
  for (const std::string& name : programs_of(spec)) {
    if (const BaseFunction* program = module.find(name)) {
      hash = hash * 0x100000001b3u ^ text::structural_hash(*program);
    }
  }
  return hash;
}

// Name number `attempt` for a spec: 8 hex digits of its hash, rehashed for each attempt.
std::string kernel_name(const relax::Function& spec, uint64_t hash_of_spec, uint64_t attempt) {
  char hash[16];
  uint64_t bits = hash_of_spec + attempt * 0x9e3779b97f4a7c15u;
  std::snprintf(hash, sizeof hash, "%08x", static_cast<unsigned>(bits & 0xffffffffu));
  return operators_of(spec) + "_" + hash;
}

}  // namespace

tir::PrimFuncRef mark_written(const tir::PrimFunc& implementation) {
  auto marked = std::make_shared<tir::PrimFunc>(implementation);
  marked->facts.written = true;
  return marked;
}

std::string add_kernel(Module& module, relax::FunctionRef spec, tir::PrimFuncRef implementation) {
  const uint64_t hash = spec_hash(module, *spec);
  for (uint64_t attempt = 0;; ++attempt) {
    std::string name = kernel_name(*spec, hash, attempt);
    auto named_spec = std::make_shared<relax::Function>(*spec);
    named_spec->facts.kernel = true;
    named_spec->facts.implementation = name + "_impl";
    if (const BaseFunction* known = module.find(name)) {
      // 32 bits can collide: only equal kernels are shared.
      if (is_kernel(known) && text::structural_equal(*known, *named_spec)) return name;
      continue;
    }
    if (module.find(name + "_impl")) continue;
    auto named_implementation = std::make_shared<tir::PrimFunc>(*implementation);
    named_implementation->facts.spec = name;
    module.functions[name] = std::move(named_spec);
    module.functions[name + "_impl"] = std::move(named_implementation);
    return name;
  }
}

}  // namespace tapml::passes
