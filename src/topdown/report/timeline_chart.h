// The time of each step.
#pragma once

#include <string>
#include <vector>

#include "topdown/profile/timeline.h"

namespace tapml::topdown {

// A lane for each kind of step, on one time scale, and a table of the steps.
std::string timeline_chart(const std::vector<TimelineSpan>& timeline);

}  // namespace tapml::topdown
