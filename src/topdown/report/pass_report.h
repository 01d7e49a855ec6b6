// Reports of a bisection over passes, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "topdown/results/pass_bisection.h"
#include "topdown/results/run_facts.h"

namespace tapml::topdown {

// A paragraph per culprit, then one sentence. `colors` marks the culprits.
std::string pass_bisection_text(const PassBisection& bisection, bool colors);

// A culprit: its settings, or a pass that cannot be turned off, and the paragraph about it.
struct PassFinding {
  std::string name, text;
};
std::vector<PassFinding> pass_findings(const PassBisection& bisection);
// One sentence: the number of culprits, that nothing is wrong, or that no pass is at fault.
std::string pass_verdict(const PassBisection& bisection);

// One self-contained page.
std::string pass_bisection_html(const PassBisection& bisection, const std::string& model,
                                const std::string& prompt, const std::string& command,
                                const RunFacts& run = {});

}  // namespace tapml::topdown
