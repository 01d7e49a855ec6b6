// A user's secret on disk: 32 random bytes in a file of mode 0600.
#pragma once

#include <string>
#include <variant>

#include "base/hmac.h"

namespace tapml {

// The key of the file at `path`, which is created if it is missing; concurrent processes all get
// the same key. A text is the reason why there is none: a file that others can access, or that
// holds no key, is not used.
std::variant<HmacKey, std::string> open_key_file(const std::string& path);

}  // namespace tapml
