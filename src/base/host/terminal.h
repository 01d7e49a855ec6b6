// What the terminal behind a file descriptor can show.
#pragma once

#include <string>
#include <string_view>

namespace tapml {

bool is_terminal(int fd);
// Columns; 80 where it is no terminal or does not say.
int terminal_width(int fd);
// Columns of what is printed to it: the terminal's; else those of COLUMNS in the environment, where
// it is a number from 20 to 10,000; else 80.
size_t text_width(int fd);
// Lines; 24 where it is no terminal or does not say.
int terminal_height(int fd);
// True on a terminal on which a line can be written over: not on TERM=dumb.
bool terminal_moves_cursor(int fd);
// True on a terminal that knows colors, unless the environment sets NO_COLOR to anything.
bool terminal_has_colors(int fd);

enum class Style { kBold, kDim, kRed, kGreen, kYellow, kBlue };

// `text` in that style, or as it is where `enabled` is false.
std::string styled(std::string_view text, Style style, bool enabled);

// Columns that UTF-8 text takes: two for each wide character of East Asia and each picture, none
// for marks that combine with the one before and for sequences that set a style.
size_t display_width(std::string_view text);
// The same of the character or style at `position`, whose length in bytes goes to `length`.
size_t display_width_at(std::string_view text, size_t position, size_t& length);

}  // namespace tapml
