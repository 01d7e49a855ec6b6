// Makes untrusted text safe for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapml {

// Length of the control character at `position`, or 0: C0, DEL, and C1 as UTF-8 (2 bytes).
size_t control_character_length(std::string_view text, size_t position);

// Replaces what a terminal would act on: control characters (except newline and tab) and bytes that
// are not UTF-8 become \xNN, byte by byte.
std::string printable(std::string_view text);
// The same for one line: a newline becomes \n, so that text cannot forge another line.
std::string printable_line(std::string_view text);

}  // namespace tapml
