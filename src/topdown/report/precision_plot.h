// The errors of an output beside those of honest rounding.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// A bar for each bin of errors, in deviations, and a line at the number of elements that the widest
// honest rounding has there; on a logarithmic scale, so that single elements show. Empty if no
// deviation is known.
std::string precision_plot(const OutputPrecision& precision);

// The plots of all kernels, folded; empty if there is none.
std::string precision_part(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
