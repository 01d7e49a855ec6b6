#include "topdown/report/layer_table.h"

#include <cstdio>

#include "base/host/terminal.h"
#include "topdown/report/html.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

KernelState state_of(const LayerStep& layer) {
  if (!layer.tried) return KernelState::kUntested;
  return layer.left.empty() ? KernelState::kPassed : KernelState::kDiffers;
}

namespace {

// Whether the model ran with anything of it on the target.
bool ran(const LayerStep& layer) { return layer.hybrid.positions > 0; }

std::string megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", 1e-6 * static_cast<double>(bytes));
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string layer_outcome(const LayerStep& layer) {
  if (!layer.tried) return "not tried";
  if (layer.left.empty()) return "moved";
  if (layer.left.size() == layer.kernels.size()) return "stays";
  return std::to_string(layer.left.size()) + " of " + std::to_string(layer.kernels.size()) +
         (layer.left.size() == 1 ? " kernels stays" : " kernels stay");
}

std::vector<std::string> layer_lines(const std::vector<LayerStep>& layers, bool colors) {
  std::vector<std::string> lines = {pad("layer", 34) + " " + pad("calls", 6) + " " +
                                    pad("error", 9) + " " + pad("bound", 9) + " outcome"};
  for (const LayerStep& layer : layers) {
    const Style style = !layer.tried         ? Style::kDim
                        : layer.left.empty() ? Style::kGreen
                                             : Style::kRed;
    lines.push_back(pad(layer.layer, 34) + " " +
                    pad(ran(layer) ? std::to_string(layer.dispatched) : "", 6) + " " +
                    pad(ran(layer) ? number(layer.hybrid.max_abs) : "", 9) + " " +
                    pad(ran(layer) ? number(layer.hybrid.bound) : "", 9) + " " +
                    styled(layer_outcome(layer), style, colors) +
                    (layer.left.empty() ? "" : ": " + names_text(layer.left)));
  }
  return lines;
}

std::string layer_table(const std::vector<LayerStep>& layers) {
  if (layers.empty()) return "";
  std::string rows;
  for (const LayerStep& layer : layers) {
    const KernelState state = state_of(layer);
    const std::string chip =
        element("span", {{"class", std::string("chip ") + state_class(state)}}, state_sign(state));
    rows += table_row(
        {escaped(layer.layer), chip + " " + escaped(layer_outcome(layer)),
         ran(layer) ? number(layer.hybrid.max_abs) : "",
         ran(layer) ? number(layer.hybrid.bound) : "",
         ran(layer) ? number(layer.hybrid.kl_max) : "",
         ran(layer) ? std::to_string(layer.dispatched) : "",
         megabytes(layer.copies.bytes_to_target) + ", " + megabytes(layer.copies.bytes_from_target),
         escaped(names_text(layer.left))},
        true);
  }
  return table({"layer", "outcome", "logits error", "bound", "KL at most", "calls on the target",
                "copied to it, from it", "stay on the source"},
               rows, "facts");
}

}  // namespace tapml::topdown
