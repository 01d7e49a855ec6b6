// The head of a page: the date, the machine and the model.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/page_content.h"

namespace tapml::topdown {

// The facts, the devices and the command.
std::string run_facts_part(const RunFacts& facts, const std::vector<PageDevice>& devices,
                           const std::string& command);

}  // namespace tapml::topdown
