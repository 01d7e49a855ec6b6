#include "topdown/report/precision_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "topdown/report/report_parts.h"
#include "topdown/report/svg.h"

namespace tapml::topdown {

namespace {

constexpr double kLeft = 56, kTop = 22, kHeight = 120, kBottom = 34, kBar = 36, kGap = 6;

std::string bin_text(size_t bin) {
  const double end = kErrorBins[bin];
  return end < 1 ? "1/" + svg_number(1 / end) : svg_number(end);
}

// The height of a number of elements: 0 has none, and 1 is visible.
double height_of(double count, double most) {
  return kHeight * std::log1p(count) / std::log1p(std::max(most, 1.0));
}

std::string ends_of(size_t bin) {
  const std::string from = bin == 0 ? "0" : bin_text(bin - 1);
  return bin == kErrorBins.size() ? "more than " + from : from + " to " + bin_text(bin);
}

}  // namespace

std::string precision_plot(const OutputPrecision& precision) {
  if (precision.histogram.empty()) return "";
  const std::vector<double> honest = widest_honest_histogram(precision.elements);
  const size_t bins = precision.histogram.size();
  const double most = std::max(static_cast<double>(std::ranges::max(precision.histogram)),
                               std::ranges::max(honest));
  const double width = kLeft + static_cast<double>(bins) * (kBar + kGap) + kGap;
  const double ground = kTop + kHeight;
  std::string text = svg_text(4, 12, "elements", "label");
  for (double count = 1; count <= most; count *= 100) {
    const double y = ground - height_of(count, most);
    text += svg_line(kLeft, y, width, y, "grid") +
            svg_text(kLeft - 6, y + 4, svg_number(count), "tick", "end");
  }
  for (size_t bin = 0; bin < bins; ++bin) {
    const double x = kLeft + kGap + static_cast<double>(bin) * (kBar + kGap);
    const auto count = static_cast<double>(precision.histogram[bin]);
    const double height = height_of(count, most);
    // Honest rounding leaves less than one element here.
    const bool strange = count > 0 && honest[bin] < 1e-3;
    text += svg_rect(
        x, ground - height, kBar, height, strange ? "bar far" : "bar",
        svg_title(ends_of(bin) + " deviations: " + std::to_string(precision.histogram[bin]) +
                  " elements; " + svg_number(honest[bin]) + " by the widest honest rounding"));
    const double y = ground - height_of(honest[bin], most);
    if (honest[bin] >= 1e-3) text += svg_line(x, y, x + kBar, y, "limit");
    // At its end; the last bin has none.
    if (bin + 1 < bins) text += svg_text(x + kBar, ground + 14, bin_text(bin), "tick", "middle");
  }
  text += svg_line(kLeft, ground, width, ground, "axis");
  text += svg_text(width, ground + 30, "deviations of honest rounding", "label", "end");
  char rms[32];
  std::snprintf(rms, sizeof rms, "%.3g", precision.rms);
  return element("p",
                 "Errors of the worst call, in standard deviations of honest rounding, with "
                 "the most that this has as lines. RMS " +
                     std::string(rms) + " (honest: 1 at most), " +
                     std::to_string(precision.elements) + " elements.") +
         svg(width, ground + kBottom, 480, "Number of elements by their errors in deviations",
             text);
}

std::string precision_part(const std::vector<PageKernel>& kernels) {
  std::string part;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const PageKernel& kernel = kernels[i];
    if (!kernel.verdict) continue;
    const std::string plot = precision_plot(kernel.verdict->worst.target.precision);
    if (plot.empty()) continue;
    part += element("details",
                    element("summary", std::to_string(i + 1) + " " + escaped(kernel.name)) + plot);
  }
  return part;
}

}  // namespace tapml::topdown
