#include "pipeline/check_input.h"

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"

namespace tapml::pipeline {

void check_input(const Module& module, const std::string& source) {
  analysis::verify_input(module, source);
  if (attr_or<std::string>(module.attrs, "phase", "") == "plan") {
    throw_user("the module's memory is already planned", source, "a module of an earlier phase",
               "phase \"plan\"");
  }
  // The same check that stands between passes, but here the fault is the text's.
  auto checked = guard([&] { build::check_annotations(module); });
  if (checked) return;
  Error error = checked.error();
  throw_user(error.message, source + (error.where.empty() ? "" : ": " + error.where),
             error.expected, error.found, error.hint);
}

}  // namespace tapml::pipeline
