// An error as JSON documents show it.
#pragma once

#include "base/error.h"
#include "io/json.h"

namespace tapml {

// kind ("user", "platform: lost", ...), message, where, expected, found, hint.
Json error_json(const Error& error);

}  // namespace tapml
