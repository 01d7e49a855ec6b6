// The JSON fields of localizations. Internal to results/.
#pragma once

#include "topdown/results/localization.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/results/verdict_fields.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, SmallestCall& x) {
  a("dims_before", x.dims_before);
  a("dims", x.dims_after);
  a("bytes_before", x.bytes_before);
  a("bytes", x.bytes_after);
  a("nonzero_before", x.nonzero_before);
  a("nonzero", x.nonzero_after);
  a("tries", x.tries);
  a("complete", x.complete);
  a("verdict", x.verdict);
}

template <class A>
void fields(A& a, Culprit& x) {
  fields(a, x.verdict);
  if (A::kReads) {
    x.kernel = x.verdict.kernel;
    x.source.provider = x.verdict.provider;
  }
  a.derived("outcome", [&] { return Json::string(found_text(x)); });
  a.choice("found_by", x.evidence, Evidence::kTarget, evidence_name);
  a("together_with", x.together_with);
  a("same_preparation", x.same_preparation);
  a("runs", x.runs);
  a("failed_runs", x.failed_runs);
  if (x.evidence != Evidence::kReplay) a("hybrid", x.hybrid);
  a.present("smallest", x.smallest);
  a("loops", x.source.loops);
  a("code", x.source.code);
  a("language", x.source.language);
}

template <class A>
void fields(A& a, Localization& x) {
  a("source", x.source);
  a("target", x.target);
  a("source_device", x.source_info);
  a("target_device", x.target_info);
  a.nullable("nan", x.source_nan);
  a.derived("found", [&] { return Json::boolean(x.found()); });
  a.derived("verdict", [&] { return Json::string(verdict_word(x.verdict())); });
  a.derived("culprits", [&] {
    std::vector<std::string> names;
    for (const Culprit& culprit : x.culprits) names.push_back(culprit.kernel);
    return to_json(names);
  });
  a("findings", x.culprits);
  a("flaky", x.flaky);
  a.items("kernels", x.verdicts, [](auto& item, KernelVerdict& verdict) {
    fields(item, verdict);
    item.derived("outcome", [&] { return Json::string(verdict_outcome(verdict)); });
  });
  a("untested", x.untested);
  a("incomplete", x.incomplete);
  a("hybrid_runs", x.hybrid_runs);
  a("rest", x.rest);
  a("target_ran_alone", x.target_ran);
  a("whole_model", x.whole);
  a("timeline", x.timeline);
  a("seconds", x.seconds);
}

template <class A>
void fields(A& a, SettingCulprit& x) {
  a("settings", x.settings);
  a("kernels", x.kernels);
  a("check", x.check);
}

template <class A>
void fields(A& a, PassCulprit& x) {
  a("name", x.pass);
  a("loops", x.loops);
  a("check", x.check);
}

template <class A>
void fields(A& a, PassBisection& x) {
  a("source", x.source);
  a("target", x.target);
  a("device", x.target_info);
  a.derived("passed", [&] { return Json::boolean(!x.found()); });
  a.derived("verdict", [&] { return Json::string(verdict_word(x.verdict())); });
  a("whole", x.whole);
  a("settings", x.settings);
  a("runs", x.runs);
  a("evaluations", x.evaluations);
  a("seconds", x.seconds);
  if (x.found()) a("bare", x.bare);
  a.present("pass", x.pass);
}

}  // namespace tapml::topdown
