// How fast the kernels are on the target.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"
#include "topdown/results/speed_table.h"

namespace tapml::topdown {

// A row a kernel, the slowest first, with what it reaches of the device's ceilings; slow ones are
// marked; or why there are none. Names link to the rows of `kernels`. Empty where nothing was
// timed.
std::string speed_table(const SpeedTable& speed, const std::vector<PageKernel>& kernels);

// One line for a terminal: the slow ones, and why others were not timed. Empty where nothing was
// asked for.
std::string slow_text(const SpeedTable& speed, const std::string& target);

}  // namespace tapml::topdown
