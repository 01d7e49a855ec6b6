// The style sheet of the pages: light, dark and paper, wide and narrow screens.
#pragma once

#include <string>

namespace tapml::topdown {

std::string page_style();

}  // namespace tapml::topdown
