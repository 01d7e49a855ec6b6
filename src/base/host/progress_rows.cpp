#include "base/host/progress_rows.h"

#include <algorithm>
#include <string_view>

namespace tapml {

namespace {

constexpr size_t kMostName = 40, kStateWidth = 14, kLeastDetail = 6;

std::string padded(std::string_view text, size_t columns) {
  std::string result(cut_to(text, columns));
  result.append(columns - display_width(result), ' ');
  return result;
}

// The indices of the rows to show, in order.
std::vector<size_t> chosen(const std::vector<ProgressRow>& rows, size_t most) {
  std::vector<size_t> shown;
  if (rows.size() <= most) {
    for (size_t i = 0; i < rows.size(); ++i) shown.push_back(i);
    return shown;
  }
  // Failures take at most half of the lines, the last ones first.
  for (size_t i = rows.size(); i-- > 0 && shown.size() < most / 2;) {
    if (rows[i].failed) shown.push_back(i);
  }
  // Shows the rows in progress with equal context on both sides, or the last ended one if none is.
  size_t center = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].started) center = i;
  }
  auto add = [&](size_t row) {
    if (shown.size() < most && std::ranges::find(shown, row) == shown.end()) shown.push_back(row);
  };
  add(center);
  for (size_t away = 1; away < rows.size() && shown.size() < most; ++away) {
    if (away <= center) add(center - away);
    if (center + away < rows.size()) add(center + away);
  }
  std::ranges::sort(shown);
  return shown;
}

}  // namespace

std::string_view cut_to(std::string_view text, size_t columns) {
  size_t end = 0, length = 0;
  for (size_t used = 0; end < text.size(); end += length) {
    used += display_width_at(text, end, length);
    if (used > columns) break;
  }
  return text.substr(0, end);
}

std::vector<ProgressLine> row_lines(const std::vector<ProgressRow>& rows, size_t columns,
                                    size_t most, bool colors) {
  std::vector<ProgressLine> lines;
  if (rows.empty() || most == 0) return lines;
  const size_t room = columns > 1 ? columns - 1 : 1;
  const bool whole = rows.size() <= most;
  const std::vector<size_t> shown = chosen(rows, whole || most == 1 ? most : most - 1);
  size_t widest = 0;
  for (const ProgressRow& row : rows) widest = std::max(widest, display_width(row.name));
  const size_t wanted = std::min(widest, kMostName) + 1;
  const size_t name = std::min(wanted, room > kStateWidth ? room - kStateWidth : room / 2);
  for (size_t i : shown) {
    const ProgressRow& row = rows[i];
    const std::string state = padded(row.state, std::min(kStateWidth, room - name));
    ProgressLine line{.text = padded(row.name, name), .width = name + display_width(state)};
    line.text += row.style ? styled(state, *row.style, colors) : state;
    if (!row.detail.empty() && room >= line.width + 1 + kLeastDetail) {
      const std::string detail(cut_to(row.detail, room - line.width - 1));
      line.text += " " + detail;
      line.width += 1 + display_width(detail);
    }
    lines.push_back(std::move(line));
  }
  if (!whole && most > 1) {
    const std::string rest(
        cut_to("... and " + std::to_string(rows.size() - shown.size()) + " more", room));
    lines.push_back({.text = rest, .width = display_width(rest)});
  }
  return lines;
}

}  // namespace tapml
