// The speed of the kernels on the target.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"
#include "topdown/results/speed_table.h"

namespace tapml::topdown {

// A row per kernel, the slowest first, with the fraction it reaches of the device's ceilings and
// marks for slow ones; or the reason why there are none. Names link to the rows of `kernels`. Empty
// if nothing was timed.
std::string speed_table(const SpeedTable& speed, const std::vector<PageKernel>& kernels);

// One line for a terminal: the slow kernels, and why others were not timed. Empty if no timing was
// requested.
std::string slow_text(const SpeedTable& speed, const std::string& target);

}  // namespace tapml::topdown
