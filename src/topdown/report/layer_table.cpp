#include "topdown/report/layer_table.h"

#include "base/host/table.h"
#include "base/strings.h"
#include "base/units.h"
#include "topdown/report/html.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

KernelState state_of(const LayerStep& layer) {
  if (!layer.tried) return KernelState::kUntested;
  return layer.left.empty() ? KernelState::kPassed : KernelState::kMismatch;
}

namespace {

// Whether the model ran with a kernel of this layer on the target.
bool ran(const LayerStep& layer) { return layer.hybrid.positions > 0; }

}  // namespace

std::string layer_outcome(const LayerStep& layer) {
  if (!layer.tried) return "not tried";
  if (layer.left.empty()) return "moved";
  if (layer.left.size() == layer.kernels.size()) return "stays";
  return std::to_string(layer.left.size()) + " of " + std::to_string(layer.kernels.size()) +
         (layer.left.size() == 1 ? " kernels stays" : " kernels stay");
}

std::vector<std::string> layer_lines(const std::vector<LayerStep>& layers, size_t width,
                                     bool colors) {
  std::vector<TableRow> rows;
  for (const LayerStep& layer : layers) {
    const Style style = !layer.tried         ? Style::kDim
                        : layer.left.empty() ? Style::kGreen
                                             : Style::kRed;
    rows.push_back({layer.layer,
                    ran(layer) ? std::to_string(layer.dispatched) : "",
                    ran(layer) ? number(layer.hybrid.max_abs) : "",
                    ran(layer) ? number(layer.hybrid.bound) : "",
                    {layer_outcome(layer), style},
                    join(layer.left)});
  }
  return table_lines({{.name = "layer"},
                      {.name = "calls", .number = true},
                      {.name = "error", .number = true},
                      {.name = "bound", .number = true},
                      {.name = "outcome"},
                      {.name = "stay on the source", .below = true}},
                     rows, width, colors);
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
         ran(layer) ? number(layer.hybrid.cosine_distance.value_or(layer.hybrid.kl_max)) : "",
         ran(layer) ? std::to_string(layer.dispatched) : "",
         size_text(layer.copies.bytes_to_target) + ", " + size_text(layer.copies.bytes_from_target),
         escaped(join(layer.left))},
        true);
  }
  const bool vectors = std::ranges::any_of(
      layers, [](const LayerStep& one) { return one.hybrid.cosine_distance.has_value(); });
  return table({"layer", "outcome", vectors ? "vectors' error" : "logits error", "bound",
                vectors ? "cosine distance at most" : "KL at most", "calls on the target",
                "copied to it, from it", "stay on the source"},
               rows, "facts");
}

}  // namespace tapml::topdown
