#include "topdown/report/timeline_chart.h"

#include <algorithm>
#include <cmath>

#include "topdown/report/report_parts.h"
#include "topdown/report/svg.h"

namespace tapml::topdown {

namespace {

constexpr double kTimeWidth = 960, kTimeLeft = 72, kTimeRight = 24, kLaneHeight = 30,
                 kTimeBottom = 34;

// 1, 2 or 5 times a power of ten, for at most ten ticks.
double tick_of(double total) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(total, 1e-6) / 10)));
  for (double times : {1.0, 2.0, 5.0}) {
    if (total / (times * unit) <= 10) return times * unit;
  }
  return 10 * unit;
}

}  // namespace

std::string timeline_chart(const std::vector<TimelineSpan>& timeline) {
  if (timeline.empty()) return element("p", "No step was timed.");
  std::vector<std::string> lanes;
  double total = 0;
  for (const TimelineSpan& span : timeline) {
    if (std::ranges::find(lanes, span.lane) == lanes.end()) lanes.push_back(span.lane);
    total = std::max(total, span.start + span.seconds);
  }
  total = std::max(total, 1e-6);
  const double scale = (kTimeWidth - kTimeLeft - kTimeRight) / total;
  const double height = kLaneHeight * static_cast<double>(lanes.size());
  std::string drawing;
  const double tick = tick_of(total);
  for (int64_t i = 0; static_cast<double>(i) * tick <= total; ++i) {
    const double at = static_cast<double>(i) * tick, x = kTimeLeft + at * scale;
    drawing += svg_line(x, 0, x, height, "grid") +
               svg_text(x, height + 16, svg_number(at) + " s", "tick", "middle");
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    drawing += svg_text(kTimeLeft - 6, kLaneHeight * static_cast<double>(i) + 19, lanes[i], "label",
                        "end");
  }
  std::string rows;
  for (const TimelineSpan& span : timeline) {
    const auto lane = static_cast<double>(std::ranges::find(lanes, span.lane) - lanes.begin());
    const double x = kTimeLeft + span.start * scale, width = std::max(span.seconds * scale, 1.0);
    const double y = kLaneHeight * lane + 5;
    drawing += svg_rect(x, y, width, kLaneHeight - 10, "span",
                        svg_title(span.name + ": " + seconds(span.seconds)));
    if (6.5 * static_cast<double>(span.name.size()) + 8 <= width) {
      drawing += svg_text(x + 4, y + 14, span.name, "spanname");
    }
    rows += table_row(
        {escaped(span.lane), escaped(span.name), seconds(span.start), seconds(span.seconds)});
  }
  return svg(kTimeWidth, height + kTimeBottom, 640, "How long each step took", drawing) +
         element("details", element("summary", "All steps") +
                                table({"kind", "step", "began at", "took"}, rows));
}

}  // namespace tapml::topdown
