// The rows above a live progress line: what a long command works on, one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/terminal.h"

namespace tapml {

struct ProgressRow {
  std::string name, state;
  std::string detail;          // left out where there is no room
  std::optional<Style> style;  // of the state; none: as the terminal writes
  bool started = false;        // else it waits
  bool ended = false;          // else, where it started, it is under way
  bool failed = false;         // stays in sight
};

// A line as it is written, and how many columns it takes.
struct ProgressLine {
  std::string text;
  size_t width = 0;
};

// At most `most` lines of fewer than `columns` columns: all rows, or those that failed last and the
// ones around what is under way, with a line that says how many are left out. UTF-8 stays whole.
std::vector<ProgressLine> row_lines(const std::vector<ProgressRow>& rows, size_t columns,
                                    size_t most, bool colors);

// The first `columns` code points of UTF-8 text.
std::string_view cut_to(std::string_view text, size_t columns);

}  // namespace tapml
