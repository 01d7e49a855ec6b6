// Percent-encoding of addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapml {

// "a%20b" ▸ "a b". Nothing if a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace tapml
