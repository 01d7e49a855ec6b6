// Tables of text that fit a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/terminal.h"

namespace tapml {

struct TableColumn {
  std::string name;
  bool number = false;  // right-aligned
  // For lists that readers look up rather than compare: if the columns are wider than the terminal,
  // this one goes below its row and wraps to as many lines as it needs.
  bool below = false;
};

struct TableCell {
  TableCell(std::string text) : text(std::move(text)) {}  // NOLINT: cells are mostly plain texts
  TableCell(const char* text) : text(text) {}             // NOLINT
  TableCell(std::string text, Style style) : text(std::move(text)), style(style) {}

  std::string text;
  std::optional<Style> style;  // if the table has colors
};
using TableRow = std::vector<TableCell>;  // missing cells are empty

// The column widths of a table. Cells are never cut: text that is longer than its column shifts the
// rest of its row or, in the first column, gets its own line.
class TableLayout {
 public:
  // `sample`: rows as wide as the rows to come. Two blanks separate columns.
  TableLayout(std::vector<TableColumn> columns, const std::vector<TableRow>& sample, size_t width,
              bool colors = false);

  // Lines without line ends.
  std::vector<std::string> header() const;
  std::vector<std::string> row(const TableRow& row) const;

 private:
  bool stands_below(size_t column) const { return below_ && columns_[column].below; }
  std::vector<std::string> lines(const TableRow& row, bool is_header) const;

  std::vector<TableColumn> columns_;
  std::vector<size_t> widths_;
  size_t width_;
  bool colors_;
  bool below_ = false;
};

// Header and rows.
std::vector<std::string> table_lines(const std::vector<TableColumn>& columns,
                                     const std::vector<TableRow>& rows, size_t width,
                                     bool colors = false);

// Wraps `text` at blanks to lines of at most `width` columns; a word that is longer than a line
// gets its own. The lines after the first are indented by `indent` blanks.
std::vector<std::string> wrapped_lines(const std::string& text, size_t width, size_t indent = 0);
// The same as one text.
std::string wrapped(const std::string& text, size_t width, size_t indent = 0);

}  // namespace tapml
