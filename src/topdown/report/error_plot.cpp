#include "topdown/report/error_plot.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "topdown/report/model_map.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/svg.h"

namespace tapml::topdown {

namespace {

constexpr double kPlotLeft = 64, kPlotRight = 12, kPlotTop = 40, kPlotHeight = 200,
                 kPlotBottom = 24;
// The width of a row; more calls continue in the next row.
constexpr double kLeastStep = 4, kRowWidth = 1200, kLeastWidth = 640;
constexpr auto kMostPoints = static_cast<size_t>((kRowWidth - kPlotLeft - kPlotRight) / kLeastStep);
// Smaller ratios are drawn on the lowest line, with the zeros.
constexpr double kLeastDecade = -9, kMostDecade = 12;

struct Point {
  size_t kernel = 0;
  const CallGroup* group = nullptr;
  LayerPosition place;
};

std::vector<Point> points_of(const std::vector<PageKernel>& kernels) {
  std::vector<Point> points;
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const CallGroup& group : kernels[k].groups) {
      if (group.compared == 0) continue;
      points.push_back(
          {.kernel = k, .group = &group, .place = layer_positions(group.origin).front()});
    }
  }
  std::ranges::stable_sort(points, {}, [](const Point& point) { return point.group->sequence; });
  return points;
}

class Plot {
 public:
  Plot(const std::vector<PageKernel>& kernels, std::vector<Point> points)
      : kernels_(kernels), points_(std::move(points)) {
    split();
    // The decades that contain the finite ratios, and 1.
    for (const Point& point : points_) {
      const double ratio = point.group->ratio;
      if (ratio == 0 || !std::isfinite(ratio)) continue;
      low_ = std::min(low_, std::floor(std::log10(ratio)));
      high_ = std::max(high_, std::ceil(std::log10(ratio)));
    }
    low_ = std::max(low_, kLeastDecade);
    high_ = std::min(high_, kMostDecade);
  }

  std::string html() {
    std::string rows = element("p",
                               "The largest error over its bound of each call, in the order "
                               "of the run, by layer; on a logarithmic scale.");
    for (const Row& row : rows_) {
      begin_ = row.begin;
      end_ = row.end;
      rows += svg(kRowWidth, kPlotTop + kPlotHeight + kPlotBottom, kLeastWidth,
                  "Error over bound of the calls of " + function(begin_) +
                      " in the order of the run, on a logarithmic scale",
                  bands() + axes() + marks());
    }
    return element("div", rows);
  }

 private:
  struct Row {
    size_t begin = 0, end = 0;  // range of points
  };

  bool same_layer(size_t a, size_t b) const {
    return points_[a].place == points_[b].place && function(a) == function(b);
  }

  // Starts a row for each function of the model, and breaks rows between layers where possible.
  // Short functions share a row.
  void split() {
    for (size_t first = 0; first < points_.size();) {
      size_t end = first + 1;
      while (end < points_.size() && function(end) == function(first)) ++end;
      const size_t size = end - first;
      const size_t pieces = ceil_div(size, kMostPoints);
      const bool joins =
          !rows_.empty() && rows_.back().end - rows_.back().begin + size <= kMostPoints / 2;
      if (joins) rows_.back().end = end;
      for (size_t piece = 0; piece < pieces && !joins; ++piece) {
        // Pieces of equal size, moved to the end of a layer.
        const size_t begin = piece == 0 ? first : rows_.back().end;
        size_t stop = piece + 1 == pieces ? end : first + size * (piece + 1) / pieces;
        size_t layer = stop;
        while (stop < end && layer > begin + 1 && same_layer(layer - 1, stop)) --layer;
        if (stop < end && layer > begin + 1) stop = layer;
        rows_.push_back({begin, stop});
      }
      first = end;
    }
  }

  // The line above the decades is for infinity, the one below them for zero.
  double lines() const { return high_ - low_ + 2; }
  double y_of_line(double line) const { return kPlotTop + kPlotHeight * (1 - line / lines()); }
  double y_of(double ratio) const {
    if (!std::isfinite(ratio)) return y_of_line(lines());
    const double decade = ratio > 0 ? std::log10(ratio) : low_ - 1;
    return decade < low_ ? y_of_line(0) : y_of_line(std::min(decade, high_) - low_ + 1);
  }
  double step() const {
    return (kRowWidth - kPlotLeft - kPlotRight) / static_cast<double>(end_ - begin_);
  }
  double x_of(size_t point) const {
    return kPlotLeft + step() * static_cast<double>(point - begin_);
  }

  std::string axes() const {
    std::string text;
    auto mark = [&](double line, const std::string& label, const char* css_class) {
      const double y = y_of_line(line);
      text += svg_line(kPlotLeft, y, kRowWidth - kPlotRight, y, css_class);
      text += svg_text(kPlotLeft - 6, y + 4, label, "tick", "end");
    };
    mark(0, "0", "axis");
    const double every = std::ceil((high_ - low_ + 1) / 10);
    for (double decade = low_; decade <= high_; ++decade) {
      if (decade == 0) {
        mark(decade - low_ + 1, "bound 1", "limit");
      } else if (std::fmod(std::abs(decade), every) == 0) {
        mark(decade - low_ + 1, "1e" + svg_number(decade), "grid");
      }
    }
    const bool infinite = std::ranges::any_of(
        points_, [](const Point& point) { return !std::isfinite(point.group->ratio); });
    if (infinite) mark(lines(), "NaN, inf", "grid");
    text += svg_text(4, 12, "error / bound", "label");
    return text;
  }

  // Behind the points: neighbors from one layer, under one function of the model.
  std::string bands() const {
    std::string text;
    bool shaded = false;
    for (size_t first = begin_; first < end_;) {
      size_t last = first;
      while (last + 1 < end_ && same_layer(last + 1, first)) ++last;
      const double x = x_of(first), width = x_of(last + 1) - x;
      if (shaded) text += svg_rect(x, kPlotTop, width, kPlotHeight, "band");
      shaded = !shaded;
      const LayerPosition& place = points_[first].place;
      const std::string name = place.number < 0 ? place.name() : std::to_string(place.number);
      if (7 * static_cast<double>(name.size()) <= width) {
        text += svg_text(x + width / 2, kPlotTop + kPlotHeight + 16, name, "tick", "middle");
      }
      if (first == begin_ || function(first) != function(first - 1)) {
        text += svg_line(x, kPlotTop - 14, x, kPlotTop + kPlotHeight, "axis");
        if (7 * static_cast<double>(function(first).size()) + 8 <= room_of_function(first)) {
          text += svg_text(x + 4, kPlotTop - 6, function(first), "label");
        }
      }
      first = last + 1;
    }
    return text;
  }
  // The width of the calls of the same function from `point` on.
  double room_of_function(size_t point) const {
    size_t end = point;
    while (end < end_ && function(end) == function(point)) ++end;
    return x_of(end) - x_of(point);
  }
  const std::string& function(size_t point) const { return points_[point].group->function; }

  std::string marks() const {
    std::string text;
    for (size_t i = begin_; i < end_; ++i) {
      const CallGroup& group = *points_[i].group;
      const PageKernel& kernel = kernels_[points_[i].kernel];
      const double x = x_of(i) + step() / 2, y = y_of(group.ratio);
      const bool outside = !(group.ratio <= 1);
      // A cross instead of a point is visible without its color.
      const std::string mark = outside ? element("path",
                                                 {{"class", "outside"},
                                                  {"d", "M" + svg_number(x - 4) + " " +
                                                            svg_number(y - 4) + "l8 8m0-8l-8 8"}},
                                                 "")
                                       : element("circle",
                                                 {{"class", "inside"},
                                                  {"cx", svg_number(x)},
                                                  {"cy", svg_number(y)},
                                                  {"r", "2.5"}},
                                                 "");
      text += element(
          "a", {{"href", "#" + kernel_anchor(points_[i].kernel)}},
          svg_title(std::to_string(points_[i].kernel + 1) + " " + kernel.name + ", " +
                    points_[i].place.name() + ", " + group.function + ": " + number(group.ratio)) +
              mark);
    }
    return text;
  }

  const std::vector<PageKernel>& kernels_;
  std::vector<Point> points_;
  std::vector<Row> rows_;
  size_t begin_ = 0, end_ = 0;  // of the current row
  double low_ = -1, high_ = 1;
};

}  // namespace

std::string error_plot(const std::vector<PageKernel>& kernels) {
  std::vector<Point> points = points_of(kernels);
  if (points.empty()) return element("p", "No call was compared.");
  return Plot(kernels, std::move(points)).html();
}

}  // namespace tapml::topdown
