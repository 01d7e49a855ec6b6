// What replay, migrate and localize take beside the platforms, as Python gives it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "binding.h"
#include "target/target.h"
#include "topdown/kernels/user_source.h"
#include "topdown/verdict/tolerance.h"

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

}  // namespace tapml::python
