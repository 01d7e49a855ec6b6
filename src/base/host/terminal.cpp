#include "base/host/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace tapml {

bool is_terminal(int fd) { return isatty(fd) == 1; }

int terminal_width(int fd) {
  winsize size{};
  if (is_terminal(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int terminal_height(int fd) {
  winsize size{};
  if (is_terminal(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return 24;
}

bool terminal_moves_cursor(int fd) {
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return is_terminal(fd);
}

bool terminal_has_colors(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return terminal_moves_cursor(fd);
}

namespace {

// Of the terminal's "select graphic rendition".
const char* code_of(Style style) {
  switch (style) {
    case Style::kBold:
      return "1";
    case Style::kDim:
      return "2";
    case Style::kRed:
      return "31";
    case Style::kGreen:
      return "32";
    case Style::kYellow:
      return "33";
    case Style::kBlue:
      return "34";
  }
  return "0";
}

}  // namespace

std::string styled(std::string_view text, Style style, bool enabled) {
  if (!enabled) return std::string(text);
  return std::string("\x1b[") + code_of(style) + "m" + std::string(text) + "\x1b[0m";
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

}  // namespace tapml
