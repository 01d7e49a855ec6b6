// The table of a page's kernels, and the details of the failures.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// With the script that sorts it.
std::string kernel_table(const std::vector<PageKernel>& kernels);
// A part for each wrong kernel: numbers, heat map, source, and how to reproduce the failure.
std::string failure_parts(const std::vector<PageKernel>& kernels);
// The loops and the code of each kernel that is not wrong, folded; empty if there are none.
std::string code_parts(const std::vector<PageKernel>& kernels);
// The custom kernels; empty if there are none.
std::string user_kernel_table(const std::vector<PageKernel>& kernels);
// The widened bounds with their reasons; empty if there are none.
std::string tolerance_table(const std::vector<PageKernel>& kernels);

}  // namespace tapml::topdown
