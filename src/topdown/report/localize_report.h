// Reports of a localization, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "topdown/report/command_line.h"
#include "topdown/results/localization.h"
#include "topdown/results/run_facts.h"

namespace tapml::topdown {

// One paragraph per culprit, of several lines; `colors` marks the kernel.
std::string culprit_text(const Culprit& culprit, bool colors);
std::string rate_text(const Culprit& culprit);  // "5 of 5 runs"
std::string smallest_text(const SmallestCall& smallest);
// One sentence: the number of wrong kernels, that nothing is wrong, or that the fault is not in
// kernels.
std::string localization_text(const Localization& localization);

// Writes a culprit's files below `folder` (README.md, loops.txt, the code if it is text, suite/
// with the smallest failing input or else the failing call, kernels/ with a custom kernel's
// source), to reproduce the failure without the model. `target` is in the form of `replay`'s
// option, `options` are those of the localization.
Status write_reproducer(const Culprit& culprit, const std::string& target,
                        const CommandOptions& options, const std::string& folder);
// The command that reproduces the failure in that folder; empty if no carved test fails.
std::string reproducer_command(const Culprit& culprit, const std::string& target,
                               const CommandOptions& options);

// One self-contained page.
std::string localization_html(const Localization& localization, const std::string& model,
                              const std::string& prompt, const std::string& command,
                              const CommandOptions& options, const RunFacts& run = {});

}  // namespace tapml::topdown
