// The JSON fields of an import's comparison. Internal to results/.
#pragma once

#include "topdown/reference_run/import_check.h"
#include "topdown/results/json_archive.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, ImportDifference& x) {
  a("module", x.module);
  a("end", x.end);
  a("meaning", x.meaning);
  a("layer", x.layer);
  a("max_abs", x.max_abs);
  a("allowed", x.bound);
  a("token", x.token);
  a("published", x.published);
  a("found", x.found);
  a("equals", x.equals);
  a("by_passes", x.by_passes);
}

template <class A>
void fields(A& a, ImportCheck& x) {
  a("implementation", x.implementation);
  a("class", x.model_class);
  a("dtype", x.dtype);
  a.derived("passed", [&] { return Json::boolean(x.passed()); });
  a("compared", x.compared);
  a("tokens", x.tokens);
  a("values", x.values);
  a("kernels", x.kernels);
  a("kernels_at_ends", x.kernels_at_ends);
  a("max_abs", x.max_abs);
  a("allowed", x.bound);
  a.nullable("first", x.first);
  a("missing", x.missing);
}

}  // namespace tapml::topdown
