// The JSON fields of a migration. Internal to results/, except for the state of a migration.
#pragma once

#include "io/error_json.h"
#include "topdown/results/result_json.h"
#include "topdown/results/verdict_fields.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, MigrationStep& x) {
  fields(a, x.verdict);
  a.derived("outcome", [&] { return Json::string(outcome_of(x)); });
  a("unit", x.unit);
  a("migrated", x.migrated);
  a("hybrid", x.hybrid);
  a("dispatched", x.dispatched);
  a("copies", x.copies);
  a("repeated", x.repeated);
}

template <class A>
void fields(A& a, LayerStep& x) {
  a("layer", x.layer);
  a("kernels", x.kernels);
  a("left", x.left);
  a("tried", x.tried);
  a("hybrid", x.hybrid);
  a("dispatched", x.dispatched);
  a("copies", x.copies);
  a("repeated", x.repeated);
}

template <class A>
void fields(A& a, Error& x) {
  std::string kind = error_kind_text(x);
  a("kind", kind);
  if (A::kReads) {
    a.expect("kind", read_error_kind(kind, x), "is not a kind of error",
             "\"user\", \"platform: absent\", ...");
  }
  a("message", x.message);
  a("where", x.where);
  a("expected", x.expected);
  a("found", x.found);
  a("hint", x.hint);
}

template <class A>
void fields(A& a, Migration& x) {
  // The steps that stay on the source, either `accused` or not.
  const auto staying = [&](bool accused) {
    std::vector<std::string> names;
    for (const MigrationStep* step : x.culprits()) {
      if (step->accused() == accused) names.push_back(step->verdict.kernel);
    }
    return to_json(names);
  };
  a("source", x.source);
  a("target", x.target);
  if (A::kReads ? a.has("allowances") : !x.allowances.empty()) a("allowances", x.allowances);
  a("source_device", x.source_info);
  a("target_device", x.target_info);
  a.nullable("nan", x.source_nan);
  a.derived("passed", [&] { return Json::boolean(x.passed()); });
  a.derived("verdict", [&] { return Json::string(verdict_word(x.verdict())); });
  a.derived("culprits", [&] { return staying(true); });
  a.derived("flaky", [&] { return staying(false); });
  a("kernels", x.steps);
  a.derived("custom_kernels", [&] { return custom_kernels_json(verdicts_of(x)); });
  a("untried", x.untried);
  a("untested", x.untested);
  a("resumed", x.resumed);
  a("target_ran_alone", x.target_ran);
  a("whole_model", x.whole);
  a("repeated", x.repeated);
  a("margins", x.margins);
  a("source_tokens", x.source_tokens);
  a("target_tokens", x.target_tokens);
  a("first_divergence", x.first_divergence);
  a("tie", x.tie);
  a("drawn", x.drawn);
  a("speed", x.speed);
  a("timeline", x.timeline);
  a("seconds", x.seconds);
  if (A::kReads ? a.has("layers") : !x.layers.empty()) a("layers", x.layers);
  a.present("error", x.error);
}

}  // namespace tapml::topdown
