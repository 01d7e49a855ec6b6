#include "passes/contradictions.h"

#include "build/block_builder.h"
#include "ir/exceptions.h"

namespace tapml::passes {

void refuse_contradictions(const Module& module, const std::string& known) {
  using Kind = build::AnnotationFault::Kind;
  const auto fault = build::find_annotation_fault(module);
  if (!fault) return;
  const std::string where = "function " + fault->function +
                            (fault->variable.empty() ? "" : ", binding " + fault->variable);
  if (fault->kind == Kind::kValue) {
    Error error = fault->error;
    if (error.kind == ErrorKind::kUser) error.where = where;
    throw_error(std::move(error));
  }
  const std::string what = fault->kind == Kind::kResult
                               ? "what a function returns is not what it promises"
                               : "a value is not what its annotation says";
  throw_user(what, where, fault->stored, fault->deduced, "this follows from " + known);
}

}  // namespace tapml::passes
