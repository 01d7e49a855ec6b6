#include "topdown/report/report_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/strings.h"

namespace tapml::topdown {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, value != 0 ? "%.2e" : "0", value);
  return text;
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", value);
  return text;
}

std::string tests_text(const std::vector<KernelVerdict>& verdicts) {
  const auto groups = std::ranges::count_if(
      verdicts, [](const KernelVerdict& verdict) { return verdict.group.has_value(); });
  const auto kernels = std::ssize(verdicts) - groups;
  const std::string text = std::to_string(groups) + (groups == 1 ? " group" : " groups");
  if (groups > 0 && kernels == 0) return text;
  return std::to_string(kernels) + " kernels" + (groups > 0 ? " and " + text : "");
}

std::string shapes_text(const KernelVerdict& verdict) {
  std::string text;
  size_t shown = 0;
  for (const std::string& shape : verdict.shapes) {
    if (shown++ == 2) return text + " +" + std::to_string(verdict.shapes.size() - 2);
    text += (text.empty() ? "" : " ") + shape;
  }
  return text;
}

std::string used_in(const std::set<std::string>& functions) {
  if (functions == std::set<std::string>{"decode", "prefill"}) return "both";
  return join(functions, "+");
}

std::string used_in(const std::vector<CallGroup>& groups) {
  std::set<std::string> functions;
  for (const CallGroup& group : groups) {
    if (!group.function.empty()) functions.insert(group.function);
  }
  return used_in(functions);
}

std::string used_in(const KernelVerdict& verdict) { return used_in(verdict.groups); }

std::string layers_text(const KernelVerdict& verdict) { return layers_text(verdict.origin); }

std::string layers_text(const Origin& origin) {
  std::string text = origin_summary(origin);
  // The path that all of one model's layers begin with says nothing.
  for (size_t at; (at = text.find("model.")) != std::string::npos;) text.erase(at, 6);
  return text;
}

// JSON has no infinity.
Json real(double value) {
  return std::isfinite(value) ? Json::number(value) : Json::string(number(value));
}

Json errors_json(const Errors& errors) {
  return Json::object({{"max_abs", real(errors.max_abs)},
                       {"error_over_bound", real(errors.max_ratio)},
                       {"bound", real(errors.bound_at_max)},
                       {"worst_element", Json::integer(errors.worst)},
                       {"max_relative", real(errors.max_relative)},
                       {"max_ulp", real(errors.max_ulp)},
                       {"cosine", real(errors.cosine)},
                       {"nmse", real(errors.nmse)},
                       {"nan_inf_mismatches", Json::integer(errors.mask_mismatches)},
                       {"judged", Json::integer(errors.judged)}});
}

Json check_json(const ModelCheck& check) {
  return Json::object({{"passed", Json::boolean(check.passed)},
                       {"max_abs", real(check.max_abs)},
                       {"bound", real(check.bound)},
                       {"source_error", real(check.source_error)},
                       {"top1_changes", Json::integer(check.top1_changes)},
                       {"positions", Json::integer(check.positions)},
                       {"kl_max", real(check.kl_max)},
                       {"kl_mean", real(check.kl_mean)},
                       {"top_k", Json::integer(ModelCheck::kTopK)},
                       {"top_k_agreement", real(check.top_k_agreement)},
                       {"first_divergent", Json::integer(check.first_divergent)},
                       {"judged_token", Json::integer(check.judged_token)},
                       {"own_token", Json::integer(check.own_token)},
                       {"margin", real(check.margin)},
                       {"failure", Json::string(check.failure)}});
}

Json tokens_json(const std::vector<int32_t>& tokens) {
  std::vector<Json> items;
  for (int32_t token : tokens) items.push_back(Json::integer(token));
  return Json::array(std::move(items));
}

Json device_json(const DeviceInfo& info) {
  return Json::object({{"platform", Json::string(info.platform)},
                       {"name", Json::string(info.name)},
                       {"version", Json::string(info.version)}});
}

Json groups_json(const std::vector<CallGroup>& groups) {
  std::vector<Json> items;
  for (const CallGroup& group : groups) {
    std::vector<Json> layers;
    for (const std::string& layer : group.origin) layers.push_back(Json::string(layer));
    items.push_back(Json::object({{"function", Json::string(group.function)},
                                  {"layers", Json::array(std::move(layers))},
                                  {"first_call", Json::integer(group.sequence)},
                                  {"calls", Json::integer(group.calls)},
                                  {"judged_calls", Json::integer(group.judged)},
                                  {"error_over_bound", real(group.ratio)}}));
  }
  return Json::array(std::move(items));
}

Json difference_json(const DifferenceMap& map) {
  std::vector<Json> shape, blocks;
  for (int64_t extent : map.shape) shape.push_back(Json::integer(extent));
  for (double block : map.blocks) blocks.push_back(real(block));
  return Json::object({{"shape", Json::array(std::move(shape))},
                       {"height", Json::integer(map.height)},
                       {"width", Json::integer(map.width)},
                       {"block_height", Json::integer(map.block_height)},
                       {"block_width", Json::integer(map.block_width)},
                       {"rows", Json::integer(map.rows)},
                       {"columns", Json::integer(map.columns)},
                       {"blocks", Json::array(std::move(blocks))},
                       {"outside", Json::integer(map.outside)},
                       {"first_row", Json::integer(map.first_row)},
                       {"last_row", Json::integer(map.last_row)},
                       {"first_column", Json::integer(map.first_column)},
                       {"last_column", Json::integer(map.last_column)}});
}

Json kernel_uses_json(const std::vector<KernelUse>& kernels) {
  std::vector<Json> items;
  for (const auto& [kernel, origin] : kernels) {
    std::vector<Json> layers;
    for (const std::string& layer : origin) layers.push_back(Json::string(layer));
    items.push_back(Json::object(
        {{"kernel", Json::string(kernel)}, {"layers", Json::array(std::move(layers))}}));
  }
  return Json::array(std::move(items));
}

Json timeline_json(const std::vector<TimelineSpan>& timeline) {
  std::vector<Json> spans;
  for (const TimelineSpan& span : timeline) {
    spans.push_back(Json::object({{"kind", Json::string(span.lane)},
                                  {"step", Json::string(span.name)},
                                  {"start", real(span.start)},
                                  {"seconds", real(span.seconds)}}));
  }
  return Json::array(std::move(spans));
}

}  // namespace tapml::topdown
