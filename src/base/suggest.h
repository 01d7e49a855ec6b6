// The name that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// The candidate that is closest to `name` by insertions, deletions, exchanges and swaps of
// neighbours, where at most a third of the name's characters has to change; of equals the first.
// Empty where none is that close.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

// The first candidate that begins with `name`, of two characters or more; empty where none does.
std::string longer_name(std::string_view name, const std::vector<std::string_view>& candidates);

// "did you mean 'matmul'?", or nothing.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace tapml
