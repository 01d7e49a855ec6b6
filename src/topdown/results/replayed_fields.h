// The JSON fields of a replay and of the facts of a run. Internal to results/.
#pragma once

#include "topdown/results/import_fields.h"
#include "topdown/results/result_json.h"
#include "topdown/results/verdict_fields.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, MachineInfo& x) {
  a("processor", x.processor);
  a("cores", x.cores);
  a("memory_bytes", x.memory_bytes);
  a("system", x.system);
}

template <class A>
void fields(A& a, RunFacts& x) {
  a("date", x.date);
  a("tapml", x.version);
  a("machine", x.machine);
  a("model", x.model);
  a("hash", x.hash);
  a("hashed", x.hashed);
  a.nullable("import", x.import);
}

template <class A>
void fields(A& a, Replayed& x) {
  std::vector<KernelVerdict> kernels, groups;
  if (!A::kReads) {
    for (const KernelVerdict& verdict : x.verdicts) {
      (verdict.group ? groups : kernels).push_back(verdict);
    }
  }
  a("target", x.target);
  if (A::kReads ? a.has("allowances") : !x.allowances.empty()) a("allowances", x.allowances);
  a.derived("passed", [&] { return Json::boolean(x.passed()); });
  a.derived("verdict", [&] { return Json::string(verdict_word(x.verdict())); });
  a("incomplete", x.incomplete);
  a("untested", x.untested);
  a("kernels", kernels);
  a("groups", groups);
  if (A::kReads) {
    x.verdicts = std::move(kernels);
    x.verdicts.insert(x.verdicts.end(), groups.begin(), groups.end());
  }
  a.derived("custom_kernels", [&] { return custom_kernels_json(verdicts_of(x)); });
  a("speed", x.speed);
  a("timeline", x.timeline);
  a("seconds", x.seconds);
}

}  // namespace tapml::topdown
