// Numbers, and names as all reports show them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/json.h"
#include "topdown/profile/timeline.h"
#include "topdown/replay/replay.h"
#include "topdown/verdict/model_check.h"

namespace tapml::topdown {

std::string number(double value);   // "1.25e-03"
std::string seconds(double value);  // "0.12 s"
// "5 kernels and 2 groups": what there are verdicts of.
std::string tests_text(const std::vector<KernelVerdict>& verdicts);
std::string shapes_text(const KernelVerdict& verdict);
std::string layers_text(const Origin& origin);
// Which functions of the model call a kernel: "prefill", "decode", "both" of these, else their
// names with "+" between them.
std::string used_in(const std::set<std::string>& functions);
std::string used_in(const std::vector<CallGroup>& groups);
std::string used_in(const KernelVerdict& verdict);
std::string layers_text(const KernelVerdict& verdict);

Json real(double value);  // JSON has no infinity: a text then
Json errors_json(const Errors& errors);
Json check_json(const ModelCheck& check);
Json tokens_json(const std::vector<int32_t>& tokens);
Json device_json(const DeviceInfo& info);
Json groups_json(const std::vector<CallGroup>& groups);
Json difference_json(const DifferenceMap& map);
// Objects of "kernel" and "layers".
Json kernel_uses_json(const std::vector<KernelUse>& kernels);
Json timeline_json(const std::vector<TimelineSpan>& timeline);

}  // namespace tapml::topdown
