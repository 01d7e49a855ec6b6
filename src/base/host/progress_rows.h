// The rows above a live progress line: the work items of a long command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/terminal.h"

namespace tapml {

struct ProgressRow {
  std::string name, state;
  std::string detail;          // omitted if it does not fit
  std::optional<Style> style;  // of the state; none: the terminal's default
  bool started = false;        // else it waits
  bool ended = false;          // else it is in progress if it started
  bool failed = false;         // stays visible
};

// A formatted line and its width in columns.
struct ProgressLine {
  std::string text;
  size_t width = 0;
};

// At most `most` lines of fewer than `columns` columns: all rows, or the last failures and the rows
// around those in progress, with a line that counts the omitted ones. UTF-8 stays whole.
std::vector<ProgressLine> row_lines(const std::vector<ProgressRow>& rows, size_t columns,
                                    size_t most, bool colors);

// The first `columns` code points of UTF-8 text.
std::string_view cut_to(std::string_view text, size_t columns);

}  // namespace tapml
