// Patterns of names as a shell has them.
#pragma once

#include <string_view>

namespace tapml {

// Whether `pattern` describes all of `text`: * stands for any characters, ? for one, everything
// else for itself.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace tapml
