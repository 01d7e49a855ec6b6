// The JSON fields of the summary of a carve. Internal to results/.
#pragma once

#include "topdown/results/carve_summary.h"
#include "topdown/results/import_fields.h"
#include "topdown/results/verdict_fields.h"

namespace tapml::topdown {

template <class A>
void fields(A& a, CarveSummary& x) {
  a("suite", x.suite);
  a("kernels", x.kernels);
  a("calls", x.calls);
  a("added", x.added);
  a("tensors", x.tensors);
  a("bytes", x.bytes);
  a("weights", x.weights);
  a("dropped", x.dropped);
  a.inside("edge", true, [&](auto& edge) {
    edge("added", x.edge_added);
    edge("unsupported", x.edge_unsupported);
  });
  a.nullable("nan", x.nan);
  a.nullable("import", x.import);
  a.derived("complete", [&] { return Json::boolean(x.incomplete.empty()); });
  a("reason", x.incomplete);
  a("untested", x.untested);
}

}  // namespace tapml::topdown
