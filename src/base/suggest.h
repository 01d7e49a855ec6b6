// Suggestions for misspelled names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// The candidate closest to `name` by insertions, deletions, substitutions and swaps of neighbors,
// if at most a third of the name's characters have to change; the first of equals. Empty if none is
// that close.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

// The first candidate that begins with `name` (two characters or more); empty if none does.
std::string longer_name(std::string_view name, const std::vector<std::string_view>& candidates);

// "did you mean 'matmul'?", or empty.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace tapml
