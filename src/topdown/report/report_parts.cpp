#include "topdown/report/report_parts.h"

#include <cmath>
#include <cstdio>

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

std::string pad(std::string text, size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text + std::string(width - text.size(), ' ');
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

std::string layers_text(const KernelVerdict& verdict) {
  std::string text = origin_summary(verdict.origin);
  // The path that all of one model's layers begin with says nothing.
  for (size_t at; (at = text.find("model.")) != std::string::npos;) text.erase(at, 6);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += c;
    }
  }
  return result;
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

std::string page_style() {
  return "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1200px;padding:0 1rem;"
         "color:#1c2024}"
         "h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}"
         "table{border-collapse:collapse;width:100%;font-size:13px}"
         "td,th{border-bottom:1px solid #d9dde2;padding:.35rem .5rem;text-align:left;"
         "vertical-align:top}"
         ".verdict{padding:.8rem 1rem;border-radius:.5rem;font-weight:600}"
         ".verdict.ok{background:#e2f4e6}.verdict.bad{background:#fbe4e4}"
         "tr.bad td{background:#fbe4e4}p.bad{color:#a31212}"
         "pre{background:#f3f4f6;padding:.8rem;border-radius:.5rem;white-space:pre-wrap}"
         "td{white-space:nowrap}.layers{white-space:normal;max-width:20rem;overflow-wrap:anywhere}"
         "@media(prefers-color-scheme:dark){body{background:#16191d;color:#e4e7eb}"
         "pre{background:#22262b}.verdict.ok{background:#173d22}.verdict.bad,tr.bad td"
         "{background:#4a1b1b}td,th{border-color:#343a41}p.bad{color:#ff9d9d}}";
}

}  // namespace tapml::topdown
