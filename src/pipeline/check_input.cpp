#include "pipeline/check_input.h"

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"

namespace tapml::pipeline {

namespace {

// A function that calls itself a kernel has its implementation beside it.
void check_kernels(const Module& module, const std::string& source) {
  for (const auto& [name, function] : module.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const auto* implementation =
        find_attr<std::string>(function->attrs, passes::kImplementationAttr);
    if (implementation && *implementation == name + "_impl" &&
        tir::as_prim_func(module.find(*implementation))) {
      continue;
    }
    throw_user("kernel @" + name + " has no implementation", source,
               "a tensor program @" + name + "_impl, named by the attribute \"implementation\"",
               implementation ? "@" + *implementation : "no such attribute");
  }
}

}  // namespace

void check_input(const Module& module, const std::string& source) {
  analysis::verify_input(module, source);
  if (attr_or<std::string>(module.attrs, "phase", "") == "plan") {
    throw_user("the module's memory is already planned", source, "a module of an earlier phase",
               "phase \"plan\"");
  }
  check_kernels(module, source);
  // The same check that stands between passes, but here the fault is the text's.
  auto checked = guard([&] { build::check_annotations(module); });
  if (checked) return;
  Error error = checked.error();
  throw_user(error.message, source + (error.where.empty() ? "" : ": " + error.where),
             error.expected, error.found, error.hint);
}

}  // namespace tapml::pipeline
