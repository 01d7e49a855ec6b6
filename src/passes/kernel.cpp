#include "passes/kernel.h"

#include <cstdio>

#include "ir/exceptions.h"
#include "relax/visit.h"
#include "text/structural.h"

namespace tapml::passes {

bool is_kernel(const BaseFunction* function) {
  const auto* spec = relax::as_relax_function(function);
  return spec && attr_or(spec->attrs, kKernelAttr, false);
}

const relax::Function& kernel_spec(const Module& module, const std::string& name) {
  const BaseFunction* function = module.find(name);
  if (!is_kernel(function)) throw_internal("no kernel named " + name);
  return *relax::as_relax_function(function);
}

const tir::PrimFunc& kernel_implementation(const Module& module, const std::string& name) {
  const auto* attr = find_attr<std::string>(kernel_spec(module, name).attrs, kImplementationAttr);
  const tir::PrimFunc* func = attr ? tir::as_prim_func(module.find(*attr)) : nullptr;
  if (!func) throw_internal("kernel " + name + " has no implementation");
  return *func;
}

std::string operators_of(const relax::Function& spec) {
  constexpr size_t kLongest = 48;
  std::string text;
  relax::visit_bindings(spec.body, [&](const relax::Binding& binding, bool) {
    const std::string& name = relax::called_operator(binding.value);
    if (name.empty() || text.size() > kLongest) return;
    text += (text.empty() ? "" : "_") + name;
    if (text.size() > kLongest) text += "_etc";
  });
  return text.empty() ? "identity" : text;
}

namespace {

// Name number `attempt` for a spec: 8 hex digits of its hash, mixed anew each time.
std::string kernel_name(const relax::Function& spec, uint64_t attempt) {
  char hash[16];
  uint64_t bits = text::structural_hash(spec) + attempt * 0x9e3779b97f4a7c15u;
  std::snprintf(hash, sizeof hash, "%08x", static_cast<unsigned>(bits & 0xffffffffu));
  return operators_of(spec) + "_" + hash;
}

}  // namespace

std::string add_kernel(Module& module, relax::FunctionRef spec, tir::PrimFuncRef implementation) {
  for (uint64_t attempt = 0;; ++attempt) {
    std::string name = kernel_name(*spec, attempt);
    auto named_spec = std::make_shared<relax::Function>(*spec);
    named_spec->attrs[kKernelAttr] = true;
    named_spec->attrs[kImplementationAttr] = name + "_impl";
    if (const BaseFunction* known = module.find(name)) {
      // 32 bits can collide: only what is equal is shared.
      if (is_kernel(known) && text::structural_equal(*known, *named_spec)) return name;
      continue;
    }
    if (module.find(name + "_impl")) continue;
    auto named_implementation = std::make_shared<tir::PrimFunc>(*implementation);
    named_implementation->attrs[kSpecAttr] = name;
    module.functions[name] = std::move(named_spec);
    module.functions[name + "_impl"] = std::move(named_implementation);
    return name;
  }
}

}  // namespace tapml::passes
