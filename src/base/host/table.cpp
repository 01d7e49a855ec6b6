#include "base/host/table.h"

#include <algorithm>

#include "base/strings.h"

namespace tapml {

namespace {

constexpr size_t kGap = 2, kIndent = 4;

std::string blanks(size_t count) { return std::string(count, ' '); }

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::vector<std::string> wrapped_lines(const std::string& text, size_t width, size_t indent) {
  std::vector<std::string> lines;
  std::string line;
  size_t used = 0;
  bool begun = false;  // the line has a word
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const size_t size = display_width(word);
    if (begun && used + 1 + size > width) {
      lines.push_back(line);
      line = blanks(indent);
      used = indent;
      begun = false;
    }
    if (begun) {
      line += ' ';
      ++used;
    }
    line += word;
    used += size;
    begun = begun || size > 0 || !lines.empty();
    // Leading blanks stay.
    if (!begun) {
      line += ' ';
      ++used;
    }
    at = end + 1;
  }
  lines.push_back(line);
  return lines;
}

std::string wrapped(const std::string& text, size_t width, size_t indent) {
  return join(wrapped_lines(text, width, indent), "\n");
}

TableLayout::TableLayout(std::vector<TableColumn> columns, const std::vector<TableRow>& sample,
                         size_t width, bool colors)
    : columns_(std::move(columns)), width_(width), colors_(colors) {
  for (const TableColumn& column : columns_) widths_.push_back(display_width(column.name));
  for (const TableRow& row : sample) {
    for (size_t c = 0; c < row.size() && c < widths_.size(); ++c) {
      widths_[c] = std::max(widths_[c], display_width(row[c].text));
    }
  }
  auto total = [&] {
    size_t sum = 0;
    for (size_t c = 0; c < widths_.size(); ++c) sum += stands_below(c) ? 0 : widths_[c] + kGap;
    return sum < kGap ? 0 : sum - kGap;
  };
  below_ = total() > width_;
  if (total() <= width_ || widths_.empty()) return;
  // As wide as the widest name that fits; longer names get their own lines.
  const size_t beyond = total() - width_;
  const size_t room = widths_[0] > beyond ? widths_[0] - beyond : 0;
  widths_[0] = display_width(columns_[0].name);
  for (const TableRow& row : sample) {
    const size_t name = row.empty() ? 0 : display_width(row[0].text);
    if (name <= room) widths_[0] = std::max(widths_[0], name);
  }
}

std::vector<std::string> TableLayout::lines(const TableRow& row, bool is_header) const {
  std::vector<std::string> lines;
  std::string line;
  size_t used = 0, wanted = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (stands_below(c)) continue;
    const TableCell cell = c < row.size() ? row[c] : TableCell("");
    const size_t size = display_width(cell.text);
    const size_t room = widths_[c] > size ? widths_[c] - size : 0;
    if (columns_[c].number) {
      const size_t begin = wanted + room;
      line += blanks(begin > used ? begin - used : 0);
      used = std::max(used, begin);
    } else {
      line += blanks(wanted > used ? wanted - used : 0);
      used = std::max(used, wanted);
    }
    if (is_header) {
      line += styled(cell.text, Style::kDim, colors_);
    } else {
      line += cell.style ? styled(cell.text, *cell.style, colors_) : cell.text;
    }
    used += size;
    wanted += widths_[c] + kGap;
    if (c == 0 && size > widths_[0]) {
      lines.push_back(line);
      line.clear();
      used = 0;
    } else if (size > widths_[c]) {
      wanted = std::max(wanted, used + kGap);
    }
  }
  line = without_trailing_blanks(line);
  if (!line.empty() || lines.empty()) lines.push_back(line);
  std::string rest;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!stands_below(c) || c >= row.size() || row[c].text.empty()) continue;
    rest += (rest.empty() ? "" : "; ") + row[c].text;
  }
  if (rest.empty()) return lines;
  if (is_header) rest = styled(rest, Style::kDim, colors_);
  for (const std::string& part : wrapped_lines(rest, width_ - kIndent)) {
    lines.push_back(blanks(kIndent) + part);
  }
  return lines;
}

std::vector<std::string> TableLayout::header() const {
  TableRow names;
  for (const TableColumn& column : columns_) names.emplace_back(column.name);
  return lines(names, true);
}

std::vector<std::string> TableLayout::row(const TableRow& row) const { return lines(row, false); }

std::vector<std::string> table_lines(const std::vector<TableColumn>& columns,
                                     const std::vector<TableRow>& rows, size_t width, bool colors) {
  const TableLayout layout(columns, rows, width, colors);
  std::vector<std::string> lines = layout.header();
  for (const TableRow& row : rows) {
    for (std::string& line : layout.row(row)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tapml
