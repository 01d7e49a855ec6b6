// Errors in JSON documents.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "io/json.h"

namespace tapml {

// An object with kind ("user", "platform: lost", ...), message, where, expected, found, hint.
Json error_json(const Error& error);

// The kind and fault of an error: "user", "platform: lost".
std::string error_kind_text(const Error& error);
// Sets both from such a text; false for any other text, which leaves the error unchanged.
bool read_error_kind(std::string_view text, Error& error);

}  // namespace tapml
