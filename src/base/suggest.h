// Suggestions for misspelled names.
#pragma once

#include <cstddef>
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

// Names of the same family, which begin with the same three letters or more: at most `most`, those
// with the most common letters first, of these the closest.
std::vector<std::string_view> related_names(std::string_view name,
                                            const std::vector<std::string_view>& candidates,
                                            size_t most);

// "did you mean 'matmul'?", or empty.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace tapml
