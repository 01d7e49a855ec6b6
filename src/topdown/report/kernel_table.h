// The kernels of a page, one row each, and all that is known of those that are wrong.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

std::string kernel_table(const std::vector<PageKernel>& kernels);
// A part for each kernel that is wrong: numbers, heat map, source, how to see it again.
std::string failure_parts(const std::vector<PageKernel>& kernels);
// The kernels that the user wrote; empty where there is none.
std::string user_kernel_table(const std::vector<PageKernel>& kernels);
// The bounds that were widened, with the reasons; empty where there is none.
std::string tolerance_table(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
