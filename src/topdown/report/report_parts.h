// Numbers and names in the form that all reports show.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "topdown/results/kernel_verdict.h"

namespace tapml::topdown {

std::string number(double value);   // "1.25e-03"
std::string seconds(double value);  // "0.12 s"
// "5 kernels and 2 groups": the items with a verdict.
std::string tests_text(const std::vector<KernelVerdict>& verdicts);
std::string shapes_text(const KernelVerdict& verdict);
std::string layers_text(const Origin& origin);
// The functions of the model that call a kernel: "prefill", "decode", "both" of these, else their
// names joined by "+".
std::string used_in(const std::set<std::string>& functions);
std::string used_in(const std::vector<CallGroup>& groups);
std::string used_in(const KernelVerdict& verdict);
std::string layers_text(const KernelVerdict& verdict);

}  // namespace tapml::topdown
