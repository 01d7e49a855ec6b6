// The errors of the kernels in the order of the run.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// A point for each group of tested calls (same kernel, function of the model and layers), in the
// order of the run: its largest error over its bound, on a logarithmic scale with a line at 1. Each
// point links to its kernel. Bands show the layers.
std::string error_plot(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
