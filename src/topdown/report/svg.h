// Drawings inside a page, colored by its style sheet.
#pragma once

#include <string>

#include "topdown/report/html.h"

namespace tapml::topdown {

std::string svg_number(double value);  // a coordinate with two decimals

// `about` describes the drawing for screen readers. The drawing is `width` wide if there is space,
// and scrolls in its box below `least_width`; both in pixels, like its coordinates.
std::string svg(double width, double height, double least_width, const std::string& about,
                const std::string& inner);
std::string svg_line(double x1, double y1, double x2, double y2, const std::string& css_class);
std::string svg_rect(double x, double y, double width, double height, const std::string& css_class,
                     const std::string& inner = "");
// `anchor`: "start", "middle", "end".
std::string svg_text(double x, double y, const std::string& text, const std::string& css_class,
                     const std::string& anchor = "start");
std::string svg_title(const std::string& text);  // shown while the pointer is over the drawing

}  // namespace tapml::topdown
