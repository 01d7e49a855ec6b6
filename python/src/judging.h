// What replay, migrate and localize take beside the platforms, as Python gives it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/isolation.h"
#include "binding.h"
#include "session.h"
#include "target/target.h"
#include "topdown/kernels/user_source.h"
#include "topdown/reference_run/tolerance.h"
#include "topdown/report/command_line.h"

namespace tapml::python {

// The text of a file of tolerances (docs/cli.md) and its name; no tolerances for an empty text.
struct ToleranceText {
  std::string text, name;
  topdown::Tolerances parse() const;
  // Warns of what applies to none of the kernels.
  void warn_unused(const topdown::Tolerances& tolerances,
                   const std::set<std::string>& kernels) const;
};
// From a pair (text, name).
ToleranceText tolerance_text_of(const std::pair<std::string, std::string>& given);

// The user's own sources for `target` in a folder; none for an empty name.
std::vector<topdown::UserSource> sources_of(const std::string& folder,
                                            const target::Target& target);

// Options of commands that judge kernels on `target` in the same way, for reports. Tolerances that
// are no file have none.
topdown::CommandOptions options_of_commands(const OpenSession& target, const std::string& kernels,
                                            const ToleranceText& tolerance,
                                            const app::IsolationOptions& isolation);

}  // namespace tapml::python
