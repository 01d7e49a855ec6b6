#include "topdown/report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "topdown/report/svg.h"

namespace tapml::topdown {

namespace {

// Classes of the style sheet: h0, h1, ... The first is for blocks that were not compared.
struct Shade {
  double most;  // error over bound
  const char* name;
};
constexpr std::array<Shade, 8> kShades = {{{DifferenceMap::kNotCompared, "not compared"},
                                           {0, "exact"},
                                           {0.1, "to 0.1"},
                                           {1, "to 1, the bound"},
                                           {10, "to 10"},
                                           {100, "to 100"},
                                           {10000, "to 10,000"},
                                           {HUGE_VAL, "above, NaN"}}};
constexpr size_t kFirstOutside = 4;
constexpr size_t kFirstFar = 6;  // dark shades, with light strikes

size_t shade_of(double ratio) {
  for (size_t i = 0; i < kShades.size(); ++i) {
    if (ratio <= kShades[i].most) return i;
  }
  return kShades.size() - 1;
}

std::string shade_class(size_t shade) { return "h" + std::to_string(shade); }

std::string strike_class(size_t shade) { return shade < kFirstFar ? "strike" : "strike far"; }

std::string legend() {
  std::string items;
  for (size_t i = 0; i < kShades.size(); ++i) {
    const std::string box =
        svg_rect(0, 0, 14, 14, shade_class(i)) +
        (i >= kFirstOutside ? element("path", {{"class", strike_class(i)}, {"d", "M2 12L12 2"}}, "")
                            : "");
    items += element("span", element("svg",
                                     {{"viewBox", "0 0 14 14"},
                                      {"width", "14"},
                                      {"height", "14"},
                                      {"aria-hidden", "true"}},
                                     box) +
                                 " " + kShades[i].name) +
             " ";
  }
  return element("p", {{"class", "legend"}}, "Largest error over bound in a block: " + items);
}

std::string range_text(const char* one, int64_t first, int64_t last) {
  if (first == last) return std::string(one) + " " + std::to_string(first);
  return std::string(one) + "s " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::string difference_text(const DifferenceMap& map) {
  const int64_t elements = map.height * map.width;
  std::string text = std::to_string(map.outside) + " of " + std::to_string(elements) +
                     (map.outside == 1 ? " elements is" : " elements are") +
                     " outside of their bounds";
  if (map.outside == 0) return text;
  std::string where;
  if (map.first_row > 0 || map.last_row < map.height - 1) {
    where = range_text("row", map.first_row, map.last_row);
  }
  if (map.first_column > 0 || map.last_column < map.width - 1) {
    where += (where.empty() ? "" : ", ") + range_text("column", map.first_column, map.last_column);
  }
  return text + (where.empty() ? "" : ", in " + where);
}

std::string heat_map(const DifferenceMap& map) {
  if (map.blocks.empty()) return "";
  // Few rows are drawn higher, so that a single row is more than a line.
  const double cell_width = std::max(6.0, std::floor(384 / static_cast<double>(map.columns)));
  const double cell_height = std::clamp(std::floor(96 / static_cast<double>(map.rows)), 6.0, 28.0);
  const double left = 40, top = 16;
  const double width = left + cell_width * static_cast<double>(map.columns) + 4;
  const double height = top + cell_height * static_cast<double>(map.rows) + 4;

  std::array<std::string, kShades.size()> paths;
  std::array<std::string, kShades.size()> strikes;
  for (int64_t r = 0; r < map.rows; ++r) {
    for (int64_t c = 0; c < map.columns;) {
      auto shade = [&](int64_t column) {
        return shade_of(map.blocks[static_cast<size_t>(r * map.columns + column)]);
      };
      // Neighbors of one shade are one rectangle.
      const size_t same = shade(c);
      const int64_t first = c;
      while (c < map.columns && shade(c) == same) ++c;
      const double x = left + cell_width * static_cast<double>(first);
      const double y = top + cell_height * static_cast<double>(r);
      const std::string run = svg_number(cell_width * static_cast<double>(c - first));
      paths[same] += "M" + svg_number(x) + " " + svg_number(y) + "h" + run + "v" +
                     svg_number(cell_height) + "h-" + run + "z";
      for (int64_t i = first; same >= kFirstOutside && i < c; ++i) {
        strikes[same] += "M" + svg_number(left + cell_width * static_cast<double>(i) + 1) + " " +
                         svg_number(y + cell_height - 1) + "l" + svg_number(cell_width - 2) + " -" +
                         svg_number(cell_height - 2);
      }
    }
  }
  std::string drawing;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    drawing += element("path", {{"class", shade_class(i)}, {"d", paths[i]}}, "");
    if (strikes[i].empty()) continue;
    drawing += element("path", {{"class", strike_class(i)}, {"d", strikes[i]}}, "");
  }
  drawing += svg_text(left, top - 4, "column 0", "tick") +
             svg_text(width - 4, top - 4, std::to_string(map.width - 1), "tick", "end") +
             svg_text(left - 4, top + 10, "row 0", "tick", "end");
  if (map.height > 1) {
    drawing += svg_text(left - 4, height - 6, std::to_string(map.height - 1), "tick", "end");
  }
  const std::string size = std::to_string(map.block_height) + " × " +
                           std::to_string(map.block_width) +
                           (map.block_height * map.block_width == 1 ? " element" : " elements");
  return element("p", escaped(difference_text(map)) + ". The output " +
                          escaped(shape_to_string(map.shape)) + " as " +
                          std::to_string(map.height) + " rows of " + std::to_string(map.width) +
                          ", a block is " + size + ".") +
         svg(width, height, std::min(width, 320.0), difference_text(map), drawing) + legend();
}

}  // namespace tapml::topdown
