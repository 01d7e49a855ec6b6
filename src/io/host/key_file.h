// A secret of this user on disk: 32 random bytes in a file of mode 0600.
#pragma once

#include <string>
#include <variant>

#include "base/hmac.h"

namespace tapml {

// The key of the file at `path`, which is made where it is missing; of several processes at once,
// all get the same. A text says why there is none: a file that is not this user's alone, or not a
// key, is not used.
std::variant<HmacKey, std::string> open_key_file(const std::string& path);

}  // namespace tapml
