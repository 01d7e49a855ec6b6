// Lines of the standard input, from a terminal or not.
#pragma once

#include <optional>
#include <string>

namespace tapml::cli {

class LineInput {
 public:
  LineInput();

  bool is_terminal() const { return is_terminal_; }
  // The next line, without its end; nothing at the end of the input. A line that ends with "\" is
  // joined with the next one by a line break. On a terminal, `prompt` is shown, and Ctrl-C discards
  // the line. Throws the error of an interrupt if it is no terminal, and a UserError for a line
  // above 16 MiB.
  std::optional<std::string> read(const std::string& prompt);

 private:
  std::optional<std::string> read_line(const std::string& prompt);

  bool is_terminal_;
  std::string pending_;  // read, but not returned
  bool ended_ = false;
};

}  // namespace tapml::cli
