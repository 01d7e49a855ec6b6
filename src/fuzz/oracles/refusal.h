// The oracle of disruptive programs.
#pragma once

#include <optional>

#include "fuzz/generate/disrupt.h"
#include "fuzz/oracles/problem.h"

namespace tapml::fuzz {

// Checks that the program's text is refused as a user's error that has the expected parts.
std::optional<Problem> refusal_problem(const Disrupted& program);

}  // namespace tapml::fuzz
