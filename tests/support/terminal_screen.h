// The screen of a terminal after a program's output: enough for progress lines and tables.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace tapml::testing {

class TerminalScreen {
 public:
  TerminalScreen(size_t columns, size_t height) : columns_(columns), height_(height) {}

  void write(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      if (text[i] == '\x1b') {
        i = escape(text, i + 1);
      } else if (text[i] == '\r') {
        column_ = 0;
        ++i;
      } else if (text[i] == '\n') {
        down();
        column_ = 0;  // as the terminal driver does
        ++i;
      } else {
        const size_t length = std::max<size_t>(1, utf8_sequence_length(std::string(text), i));
        put(std::string(text.substr(i, length)));
        i += length;
      }
    }
  }

  // All lines ever written, without trailing blanks and empty lines at the end.
  std::string text() const {
    std::string all;
    for (const auto& line : lines_) {
      std::string one;
      for (const std::string& cell : line) one += cell;
      while (one.ends_with(' ')) one.pop_back();
      all += one + "\n";
    }
    while (all.ends_with("\n\n")) all.pop_back();
    return all == "\n" ? "" : all;
  }
  size_t column() const { return column_; }
  // Escape sequences that this screen does not support.
  const std::string& unknown() const { return unknown_; }

 private:
  void down() {
    ++line_;
    if (line_ >= lines_.size()) lines_.resize(line_ + 1);
  }
  void put(const std::string& character) {
    if (column_ >= columns_) {
      column_ = 0;
      down();
    }
    if (line_ >= lines_.size()) lines_.resize(line_ + 1);
    std::vector<std::string>& cells = lines_[line_];
    if (cells.size() <= column_) cells.resize(column_ + 1, " ");
    cells[column_++] = character;
  }
  size_t escape(std::string_view text, size_t i) {
    if (i >= text.size() || text[i] != '[') {
      unknown_ += text.substr(i, 1);
      return i + 1;
    }
    size_t end = i + 1;
    while (end < text.size() && !std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
    const std::string number(text.substr(i + 1, end - i - 1));
    const size_t count = number.empty() ? 1 : static_cast<size_t>(std::atoi(number.c_str()));
    const char command = end < text.size() ? text[end] : '?';
    // A terminal's window has a height, and the cursor does not leave it.
    const size_t top = lines_.size() > height_ ? lines_.size() - height_ : 0;
    if (command == 'A') {
      line_ = line_ >= top + count ? line_ - count : top;
    } else if (command == 'K' || command == 'J') {
      if (line_ < lines_.size() && lines_[line_].size() > column_) lines_[line_].resize(column_);
      if (command == 'J' && line_ + 1 < lines_.size()) lines_.resize(line_ + 1);
    } else if (command != 'm') {
      unknown_ += command;
    }
    return end + 1;
  }

  size_t columns_, height_;
  std::vector<std::vector<std::string>> lines_{1};
  size_t line_ = 0, column_ = 0;
  std::string unknown_;
};

}  // namespace tapml::testing
