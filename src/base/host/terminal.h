// Capabilities of the terminal of a file descriptor.
#pragma once

#include <string>
#include <string_view>

namespace tapml {

bool is_terminal(int fd);
// Columns; 80 if it is no terminal or does not report them.
int terminal_width(int fd);
// Columns for output to it: the terminal's; else COLUMNS of the environment if it is a number from
// 20 to 10,000; else 80.
size_t text_width(int fd);
// Lines; 24 if it is no terminal or does not report them.
int terminal_height(int fd);
// True for a terminal that can overwrite a line: not for TERM=dumb.
bool terminal_moves_cursor(int fd);
// True for a terminal with colors, unless the environment sets NO_COLOR to anything.
bool terminal_has_colors(int fd);

enum class Style { kBold, kDim, kRed, kGreen, kYellow, kBlue };

// Returns `text` in that style, or unchanged if `enabled` is false.
std::string styled(std::string_view text, Style style, bool enabled);

// Columns of UTF-8 text: two for each East Asian wide character and each pictograph, none for
// combining marks and style sequences.
size_t display_width(std::string_view text);
// Columns of the character or style sequence at `position`; `length` receives its bytes.
size_t display_width_at(std::string_view text, size_t position, size_t& length);

}  // namespace tapml
