// tapml compile --report-phases: statistics of the module after every pass.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/json.h"
#include "pipeline/phase_report.h"

namespace tapml::cli {

// {"values": {...}, "passes": [{"pass", "kernels", "functions": {name: {"bindings", "calls",
// "bytes"}}}]}; "bytes" is null if unknown.
Json phases_json(const std::vector<pipeline::PassNumbers>& passes,
                 const std::map<std::string, int64_t>& values);

}  // namespace tapml::cli
