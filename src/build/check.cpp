#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"
#include "build/walk.h"
#include "ir/exceptions.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Symbolic variables that a sequence's own match_casts may bind.
SymbolSet cast_symbols(const SeqNode& seq) {
  SymbolSet symbols;
  std::vector<Var> vars;
  for (const Block& block : seq.blocks) {
    for (const Binding& binding : block.bindings) collect_vars(binding.match_cast, vars);
  }
  for (const Var& var : vars) symbols.insert(var.get());
  return symbols;
}

}  // namespace

Annotation annotation_of_value(const Expr& value, const Module& module) {
  if (const auto* call = as<CallNode>(value)) return deduce_call(*call, module);
  if (const auto* seq = as<SeqNode>(value)) {
    Annotation result = annotation_of_value(seq->result, module);
    SymbolSet hidden = cast_symbols(*seq);
    std::vector<Var> vars;
    collect_vars(result, vars);
    SymbolSet visible;
    for (const Var& var : vars) {
      if (!hidden.contains(var.get())) visible.insert(var.get());
    }
    return hidden.empty() ? result : restrict_vars(result, visible);
  }
  if (const auto* branch = as<IfNode>(value)) {
    return join(annotation_of_value(branch->then_branch, module),
                annotation_of_value(branch->else_branch, module));
  }
  if (const auto* lambda = as<FunctionNode>(value))
    return annotation_of_function(*lambda->function);
  return annotation_of_operand(value, module);
}

namespace {

class FaultFinder : public DeductionVisitor {
 public:
  FaultFinder(std::string function, std::optional<AnnotationFault>& fault)
      : function_(std::move(function)), fault_(fault) {}

  void binding(const Binding& binding, bool, const Annotation& deduced) override {
    const Annotation& stored = binding.var->annotation;
    if (binding.match_cast) {
      compare(AnnotationFault::Kind::kAnnotation, binding.var->name, stored, binding.match_cast);
    }
    compare(AnnotationFault::Kind::kAnnotation, binding.var->name, stored, deduced);
  }
  bool refused(const Binding& binding, const Error& error) override {
    if (!fault_) {
      fault_ = {AnnotationFault::Kind::kValue, function_, binding.var->name, error, "", ""};
    }
    return false;
  }
  void result(const Function& function, const Binding* lambda, const Annotation& deduced) override {
    compare(AnnotationFault::Kind::kResult, lambda ? lambda->var->name : "", function.result,
            deduced);
  }

 private:
  void compare(AnnotationFault::Kind kind, const std::string& variable, const Annotation& stored,
               const Annotation& deduced) {
    if (fault_ || compatible(stored, deduced)) return;
    fault_ = {kind, function_, variable, {}, to_string(stored), to_string(deduced)};
  }

  std::string function_;
  std::optional<AnnotationFault>& fault_;
};

}  // namespace

std::optional<AnnotationFault> find_annotation_fault(const Module& module) {
  std::optional<AnnotationFault> fault;
  for (const auto& [name, base] : module.functions) {
    const auto* function = as_relax_function(base.get());
    if (!function || is_pattern(function)) continue;  // a pattern's annotations may be coarser
    FaultFinder finder(name, fault);
    walk_deduction(*function, module, finder);
    if (fault) return fault;
  }
  return fault;
}

void check_annotations(const Module& module, const std::string& after_pass) {
  const std::optional<AnnotationFault> fault = find_annotation_fault(module);
  if (!fault) return;
  const std::string suffix = after_pass.empty() ? "" : " after pass " + after_pass;
  const std::string where = "@" + fault->function;
  if (fault->kind == AnnotationFault::Kind::kValue) {
    throw_internal("binding " + fault->variable + " cannot be deduced" + suffix + ": " +
                       fault->error.to_string(),
                   where);
  }
  const bool is_result = fault->kind == AnnotationFault::Kind::kResult;
  throw_internal("annotation of " + (is_result ? "the result" : "binding " + fault->variable) +
                     " is " + fault->stored + ", but " + fault->deduced + " is deduced" + suffix,
                 where);
}

}  // namespace tapml::build
