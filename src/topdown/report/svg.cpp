#include "topdown/report/svg.h"

#include <cstdio>

namespace tapml::topdown {

namespace {

// Text in drawings grows by at most this factor in wide windows.
constexpr double kMostScale = 1.4;

}  // namespace

std::string svg_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string result = text;
  while (result.ends_with('0')) result.pop_back();
  if (result.ends_with('.')) result.pop_back();
  return result == "-0" ? "0" : result;
}

std::string svg(double width, double height, double least_width, const std::string& about,
                const std::string& inner) {
  return element("div", {{"class", "scroll"}},
                 element("svg",
                         {{"viewBox", "0 0 " + svg_number(width) + " " + svg_number(height)},
                          {"style", "max-width:" + svg_number(kMostScale * width) +
                                        "px;min-width:" + svg_number(least_width) + "px"},
                          {"role", "img"},
                          {"aria-label", about}},
                         inner));
}

std::string svg_line(double x1, double y1, double x2, double y2, const std::string& css_class) {
  return element("path",
                 {{"class", css_class},
                  {"d", "M" + svg_number(x1) + " " + svg_number(y1) + "L" + svg_number(x2) + " " +
                            svg_number(y2)}},
                 "");
}

std::string svg_rect(double x, double y, double width, double height, const std::string& css_class,
                     const std::string& inner) {
  return element("rect",
                 {{"class", css_class},
                  {"x", svg_number(x)},
                  {"y", svg_number(y)},
                  {"width", svg_number(width)},
                  {"height", svg_number(height)}},
                 inner);
}

std::string svg_text(double x, double y, const std::string& text, const std::string& css_class,
                     const std::string& anchor) {
  return element(
      "text",
      {{"class", css_class}, {"x", svg_number(x)}, {"y", svg_number(y)}, {"text-anchor", anchor}},
      escaped(text));
}

std::string svg_title(const std::string& text) { return element("title", escaped(text)); }

}  // namespace tapml::topdown
