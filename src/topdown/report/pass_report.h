// What a bisection over passes found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "topdown/results/pass_bisection.h"
#include "topdown/results/run_facts.h"

namespace tapml::topdown {

// Lines: a paragraph a culprit, then one sentence. `colors` marks the culprits.
std::string pass_bisection_text(const PassBisection& bisection, bool colors);

// A culprit: its settings, or a pass that cannot be left out, and the paragraph about it.
struct PassFinding {
  std::string name, text;
};
std::vector<PassFinding> pass_findings(const PassBisection& bisection);
// One sentence: how many, or that nothing is wrong, or that it is no pass.
std::string pass_verdict(const PassBisection& bisection);

// One self-contained page.
std::string pass_bisection_html(const PassBisection& bisection, const std::string& model,
                                const std::string& prompt, const std::string& command,
                                const RunFacts& run = {});

}  // namespace tapml::topdown
