// What a bisection over passes found, for people and for programs.
#pragma once

#include <string>

#include "io/json.h"
#include "topdown/localize/bisect_passes.h"

namespace tapml::topdown {

// Lines: a paragraph a culprit, then one sentence. `colors` marks the culprits.
std::string pass_bisection_text(const PassBisection& bisection, bool colors);
Json pass_bisection_json(const PassBisection& bisection);

}  // namespace tapml::topdown
