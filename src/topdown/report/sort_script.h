// The script of a page with a table of kernels: it sorts the table by a column.
#pragma once

#include <string>

namespace tapml::topdown {

std::string sort_script();

}  // namespace tapml::topdown
