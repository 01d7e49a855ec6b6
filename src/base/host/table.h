// Tables of text that fit a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/terminal.h"

namespace tapml {

struct TableColumn {
  std::string name;
  bool number = false;  // on the right
  // Lists that readers look up rather than compare: where the columns are wider than the terminal,
  // they stand below their row, and go on there in as many lines as they need.
  bool below = false;
};

struct TableCell {
  TableCell(std::string text) : text(std::move(text)) {}  // NOLINT: cells are mostly plain texts
  TableCell(const char* text) : text(text) {}             // NOLINT
  TableCell(std::string text, Style style) : text(std::move(text)), style(style) {}

  std::string text;
  std::optional<Style> style;  // where the table has colors
};
using TableRow = std::vector<TableCell>;  // cells that are missing are empty

// How wide the columns of a table are. Nothing of a cell is ever cut: what is longer than its
// column moves the rest of its row, or, in the first column, has a line of its own.
class TableLayout {
 public:
  // `sample`: rows as wide as those that will come. Two blanks stand between columns.
  TableLayout(std::vector<TableColumn> columns, const std::vector<TableRow>& sample, size_t width,
              bool colors = false);

  // Lines without their ends.
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

// `text` in lines of at most `width` columns, broken at blanks; a word that is longer than a line
// has one of its own. The lines after the first begin with `indent` blanks.
std::vector<std::string> wrapped_lines(const std::string& text, size_t width, size_t indent = 0);
// The same as one text.
std::string wrapped(const std::string& text, size_t width, size_t indent = 0);

}  // namespace tapml
