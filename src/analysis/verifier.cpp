#include "analysis/verifier.h"

#include "analysis/verifier_impl.h"
#include "ir/exceptions.h"

namespace tapml::analysis {

namespace {

std::string rest(const std::vector<Violation>& violations) {
  size_t more = violations.size() - 1;
  if (more == 0) return "";
  return " (and " + std::to_string(more) + " more violation" + (more == 1 ? ")" : "s)");
}

std::string place_of(const Violation& violation, const text::SourceMap& places) {
  if (auto statement = places.statement(violation.node)) return *statement;
  constexpr std::string_view kBinding = "binding ";
  if (violation.place.starts_with(kBinding)) {
    return places.value(violation.function, violation.place.substr(kBinding.size()));
  }
  return violation.place.starts_with("result") ? places.result(violation.function)
                                               : places.function(violation.function);
}

}  // namespace

std::string Violation::to_string() const {
  return invariant + " in " + function + (place.empty() ? "" : ", " + place) + ": " + message;
}

std::vector<Violation> find_violations(const Module& module) {
  std::vector<Violation> violations;
  for (const auto& [name, function] : module.functions) {
    Report report(name, violations);
    if (const auto* graph = relax::as_relax_function(function.get())) {
      verify_graph(module, *graph, report);
    } else if (const auto* prim = tir::as_prim_func(function.get())) {
      verify_prim_func(*prim, report);
    } else {
      report.add("R4", "the function is missing");
    }
  }
  return violations;
}

void verify(const Module& module, const std::string& after_pass) {
  std::vector<Violation> violations = find_violations(module);
  if (violations.empty()) return;
  throw_internal("the module breaks invariant " + violations[0].to_string() + rest(violations),
                 after_pass.empty() ? "" : "after pass " + after_pass);
}

void verify_input(const Module& module, const std::string& source, const text::SourceMap* places) {
  std::vector<Violation> violations = find_violations(module);
  if (violations.empty()) return;
  throw_user("the module breaks invariant " + violations[0].to_string() + rest(violations),
             places ? place_of(violations[0], *places) : source);
}

}  // namespace tapml::analysis
