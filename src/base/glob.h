// Shell-style name patterns.
#pragma once

#include <string_view>

namespace tapml {

// Whether `pattern` matches all of `text`: * matches any characters, ? matches one, and every other
// character matches itself.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace tapml
