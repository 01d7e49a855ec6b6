#include "base/host/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/strings.h"

namespace tapml {

bool is_terminal(int fd) { return isatty(fd) == 1; }

int terminal_width(int fd) {
  winsize size{};
  if (is_terminal(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

size_t text_width(int fd) {
  if (is_terminal(fd)) return static_cast<size_t>(terminal_width(fd));
  const char* columns = std::getenv("COLUMNS");
  if (columns == nullptr) return 80;
  char* end = nullptr;
  const int64_t width = std::strtol(columns, &end, 10);
  return *columns != '\0' && *end == '\0' && width >= 20 && width <= 10000
             ? static_cast<size_t>(width)
             : 80;
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

// Codes of the terminal's "select graphic rendition".
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

namespace {

char32_t code_point_at(std::string_view text, size_t position, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[position + i]); };
  if (length == 1) return byte(0);
  char32_t code = byte(0) & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return code;
}

// The relevant blocks of Unicode; single characters of others may be off by one.
size_t columns_of(char32_t code) {
  constexpr struct {
    char32_t first, last;
    size_t columns;
  } kBlocks[] = {
      {0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0xfe00, 0xfe0f, 0},
      {0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
      {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
      {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
  };
  for (const auto& block : kBlocks) {
    if (code >= block.first && code <= block.last) return block.columns;
  }
  return 1;
}

}  // namespace

size_t display_width_at(std::string_view text, size_t position, size_t& length) {
  if (text[position] == '\x1b' && position + 1 < text.size() && text[position + 1] == '[') {
    const size_t end = text.find('m', position);
    length = (end == std::string_view::npos ? text.size() : end + 1) - position;
    return 0;
  }
  const size_t valid = utf8_sequence_length(text, position);
  length = valid == 0 ? 1 : valid;
  return valid == 0 ? 1 : columns_of(code_point_at(text, position, valid));
}

size_t display_width(std::string_view text) {
  size_t width = 0, length = 0;
  for (size_t at = 0; at < text.size(); at += length) width += display_width_at(text, at, length);
  return width;
}

}  // namespace tapml
