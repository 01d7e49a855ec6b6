#include "pipeline/unproved_kernels.h"

#include "analysis/access_bounds.h"
#include "ir/exceptions.h"
#include "passes/storage/copy_programs.h"
#include "text/parser.h"
#include "tir/prim_func.h"

namespace tapml::pipeline {

namespace {

constexpr std::string_view kCustomSource = "user:";
constexpr std::string_view kUnproved = "unproved:";

std::string buffer_of(const analysis::UnprovedAccess& access) {
  return access.access.substr(0, access.access.find('['));
}

std::string reason_of(const analysis::UnprovedAccess& access) {
  return access.access + " may be outside of " + buffer_of(access);
}

// Why the programs that the kernel's spec calls are not proved in bounds; empty if they are.
std::string reason_of(const KernelInfo& kernel) {
  if (kernel.spec.find("call_tir") == std::string::npos) return "";
  const Module module = text::parse(kernel.spec, "kernel " + kernel.name);
  for (const auto& [name, function] : module.functions) {
    const tir::PrimFunc* program = tir::as_prim_func(function.get());
    if (!program || !program->facts.spec.empty()) continue;
    const auto accesses = analysis::unproved_accesses(*program);
    if (accesses.empty() || passes::is_copy_program(*program)) continue;
    return "program " + name + ": " + reason_of(accesses[0]);
  }
  return "";
}

}  // namespace

std::vector<UnprovedKernel> unproved_kernels(const Executable& executable) {
  std::vector<UnprovedKernel> found;
  for (const Implementation& implementation : executable.implementations) {
    const KernelInfo& kernel = executable.kernels[static_cast<size_t>(implementation.kernel)];
    const std::string& provider = implementation.provider;
    std::string reason;
    if (provider.starts_with(kCustomSource)) {
      reason = "hand-written, " + provider.substr(kCustomSource.size());
    } else if (provider.starts_with(kUnproved)) {
      reason = "its loops: " + provider.substr(kUnproved.size());
    } else {
      reason = reason_of(kernel);
    }
    if (!reason.empty()) found.push_back({kernel.name, std::move(reason)});
  }
  return found;
}

std::string provider_of_written(const tir::PrimFunc& implementation) {
  if (!implementation.facts.written) return "";
  const auto accesses = analysis::unproved_accesses(implementation);
  return accesses.empty() ? "" : std::string(kUnproved) + reason_of(accesses[0]);
}

void refuse_accesses_outside(const Module& module, const std::string& source,
                             const text::SourceMap* places) {
  for (const auto& [name, function] : module.functions) {
    const tir::PrimFunc* program = tir::as_prim_func(function.get());
    if (!program) continue;
    for (const analysis::UnprovedAccess& one : analysis::unproved_accesses(*program)) {
      if (!one.outside) continue;
      std::string where = source + ", tensor program @" + name;
      if (places) where = places->statement(one.statement).value_or(places->function(name));
      throw_user("tensor program @" + name + " accesses memory outside a buffer: " + one.access,
                 where,
                 "an index from 0 to " + one.last + " in dimension " +
                     std::to_string(one.dimension) + " of " + buffer_of(one),
                 one.index);
    }
  }
}

}  // namespace tapml::pipeline
