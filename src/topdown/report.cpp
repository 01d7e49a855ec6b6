#include "topdown/report.h"

#include <cmath>
#include <cstdio>

#include "base/host/terminal.h"

namespace tapml::topdown {

namespace {

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
                       {"nan_inf_mismatches", Json::integer(errors.mask_mismatches)}});
}

Json check_json(const ModelCheck& check) {
  return Json::object({{"passed", Json::boolean(check.passed)},
                       {"max_abs", real(check.max_abs)},
                       {"bound", real(check.bound)},
                       {"source_error", real(check.source_error)},
                       {"top1_changes", Json::integer(check.top1_changes)}});
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

}  // namespace

std::string outcome_of(const MigrationStep& step) {
  if (step.migrated) return "migrated";
  if (!step.verdict.failure.empty()) return "cannot run";
  return step.verdict.passed ? "hybrid differs" : "differs";
}

std::string verdict_header() {
  return pad("kernel", 34) + " " + pad("layers", 40) + " " + pad("calls", 5) + " " +
         pad("shapes", 22) + " " + pad("error", 9) + " " + pad("bound", 9) + " " +
         pad("verdict", 14) + " time";
}

std::string verdict_row(const KernelVerdict& verdict, const std::string& outcome, bool colors) {
  bool good = outcome == "migrated" || outcome == "pass";
  std::string shown = pad(outcome + (verdict.source_wrong ? " (source!)" : ""), 14);
  // Nothing but the source's output was there to judge by.
  if (verdict.against_source) shown += " (source only)";
  double error = verdict.worst.target.mask_mismatches > 0 ? NAN : verdict.worst.target.max_abs;
  return pad(verdict.kernel, 34) + " " + pad(layers_text(verdict), 40) + " " +
         pad(std::to_string(verdict.calls), 5) + " " + pad(shapes_text(verdict), 22) + " " +
         pad(std::isnan(error) ? "nan/inf" : number(error), 9) + " " +
         pad(number(verdict.worst.allowed), 9) + " " +
         styled(shown, good ? Style::kGreen : Style::kRed, colors) + " " + seconds(verdict.seconds);
}

Json verdict_json(const KernelVerdict& verdict) {
  std::vector<Json> layers, shapes;
  for (const std::string& layer : verdict.origin) layers.push_back(Json::string(layer));
  for (const std::string& shape : verdict.shapes) shapes.push_back(Json::string(shape));
  return Json::object({{"kernel", Json::string(verdict.kernel)},
                       {"layers", Json::array(std::move(layers))},
                       {"calls", Json::integer(verdict.calls)},
                       {"shapes", Json::array(std::move(shapes))},
                       {"passed", Json::boolean(verdict.passed)},
                       {"source_wrong", Json::boolean(verdict.source_wrong)},
                       {"against_source_only", Json::boolean(verdict.against_source)},
                       {"failure", Json::string(verdict.failure)},
                       {"provider", Json::string(verdict.provider)},
                       {"worst_output", Json::string(verdict.worst_output)},
                       {"worst_call", Json::integer(verdict.worst_sequence)},
                       {"judged_elements", Json::integer(verdict.judged)},
                       {"elements", Json::integer(verdict.elements)},
                       {"allowed", real(verdict.worst.allowed)},
                       {"target", errors_json(verdict.worst.target)},
                       {"source", errors_json(verdict.worst.source)},
                       {"seconds", real(verdict.seconds)}});
}

Json migration_json(const Migration& migration) {
  std::vector<Json> steps, culprits;
  for (const MigrationStep& step : migration.steps) {
    Json json = verdict_json(step.verdict);
    json.set("outcome", Json::string(outcome_of(step)));
    json.set("migrated", Json::boolean(step.migrated));
    json.set("hybrid", check_json(step.hybrid));
    json.set("dispatched", Json::integer(step.dispatched));
    json.set("copies",
             Json::object({{"to_target", Json::integer(step.copies.to_target)},
                           {"bytes_to_target", Json::integer(step.copies.bytes_to_target)},
                           {"from_target", Json::integer(step.copies.from_target)},
                           {"bytes_from_target", Json::integer(step.copies.bytes_from_target)}}));
    steps.push_back(std::move(json));
    if (!step.migrated) culprits.push_back(Json::string(step.verdict.kernel));
  }
  return Json::object({{"source", Json::string(migration.source)},
                       {"target", Json::string(migration.target)},
                       {"source_device", device_json(migration.source_info)},
                       {"target_device", device_json(migration.target_info)},
                       {"passed", Json::boolean(migration.passed())},
                       {"culprits", Json::array(std::move(culprits))},
                       {"kernels", Json::array(std::move(steps))},
                       {"target_ran_alone", Json::boolean(migration.target_ran)},
                       {"whole_model", check_json(migration.whole)},
                       {"source_tokens", tokens_json(migration.source_tokens)},
                       {"target_tokens", tokens_json(migration.target_tokens)},
                       {"first_divergence", Json::integer(migration.first_divergence)},
                       {"tie", Json::boolean(migration.tie)},
                       {"seconds", real(migration.seconds)}});
}

std::string copies_text(const Migration& migration) {
  runtime::CopyCount sum;
  for (const MigrationStep& step : migration.steps) sum += step.copies;
  const auto part = [](int64_t copies, int64_t bytes, const char* way) {
    char text[96];
    std::snprintf(text, sizeof text, "%lld %s (%.1f MB)", static_cast<long long>(copies), way,
                  1e-6 * static_cast<double>(bytes));
    return std::string(text);
  };
  return "copies between the two in hybrid runs: " +
         part(sum.to_target, sum.bytes_to_target, "to the target") + ", " +
         part(sum.from_target, sum.bytes_from_target, "from it");
}

std::string migration_html(const Migration& migration, const ReportTexts& texts) {
  bool passed = migration.passed();
  std::string verdict = passed ? "Every kernel migrated; the target runs the whole model."
                               : "The migration is not complete.";
  std::string culprits;
  for (const MigrationStep* step : migration.culprits()) {
    culprits += "<p class=bad>Kernel <code>" + escaped(step->verdict.kernel) + "</code> " +
                escaped(outcome_of(*step)) + ". Layers behind it: <code>" +
                escaped(origin_summary(step->verdict.origin)) + "</code></p>";
  }
  std::string rows;
  for (const MigrationStep& step : migration.steps) {
    const KernelVerdict& v = step.verdict;
    rows += "<tr class=" + std::string(step.migrated ? "ok" : "bad") + "><td><code>" +
            escaped(v.kernel) + "</code></td><td class=layers>" +
            escaped(origin_summary(v.origin)) + "</td><td>" + std::to_string(v.calls) +
            "</td><td>" + escaped(shapes_text(v)) +
            (v.judged < v.elements ? "<br>" + std::to_string(v.judged) + " of " +
                                         std::to_string(v.elements) + " elements judged"
                                   : "") +
            (v.against_source ? "<br>held against the source's output only" : "") + "</td><td>" +
            number(v.worst.target.max_abs) + "</td><td>" + number(v.worst.allowed) + "</td><td>" +
            number(v.worst.target.max_ulp) + "</td><td>" + number(step.hybrid.max_abs) +
            "</td><td>" + escaped(outcome_of(step)) + "</td><td>" + escaped(v.provider) +
            "</td><td>" + seconds(v.seconds) + "</td></tr>\n";
  }
  auto device = [](const std::string& role, const std::string& target, const DeviceInfo& info) {
    return "<tr><th>" + role + "</th><td>" + escaped(target) + "</td><td>" + escaped(info.name) +
           "</td><td>" + escaped(info.version) + "</td></tr>";
  };
  std::string divergence;
  if (migration.target_ran) {
    divergence = migration.first_divergence < 0 ? "identical token for token"
                 : migration.tie
                     ? "diverges at token " + std::to_string(migration.first_divergence) +
                           " between two choices that tie within the error bound"
                     : "diverges at token " + std::to_string(migration.first_divergence);
  } else {
    divergence = "not run alone: kernels are left on the source";
  }
  return "<!doctype html><html lang=en><meta charset=utf-8><title>tapml migration</title><style>"
         "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1200px;padding:0 1rem;"
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
         "{background:#4a1b1b}td,th{border-color:#343a41}p.bad{color:#ff9d9d}}"
         "</style><h1>" +
         escaped(texts.model) + ": " + escaped(migration.source) + " to " +
         escaped(migration.target) + "</h1><div class='verdict " + (passed ? "ok" : "bad") + "'>" +
         verdict + "</div>" + culprits + "<p>" + escaped(copies_text(migration)) + "</p>" +
         "<h2>Continuations</h2><p>Prompt: " + escaped(texts.prompt) + "</p><p>" +
         escaped(migration.source) + "</p><pre>" + escaped(texts.source_text) + "</pre><p>" +
         escaped(migration.target) + " (" + divergence + ")</p><pre>" + escaped(texts.target_text) +
         "</pre><h2>Kernels</h2><table><tr><th>kernel<th>layers<th>calls<th>shapes<th>largest error"
         "<th>its bound<th>ULP<th>logits error of the hybrid<th>outcome<th>implementation<th>time"
         "</tr>\n" +
         rows + "</table><h2>Whole model</h2><p>Largest logits error against the judge: target " +
         number(migration.whole.max_abs) + ", source " + number(migration.whole.source_error) +
         ", bound " + number(migration.whole.bound) +
         ".</p><h2>Environment</h2><table><tr><th><th>target<th>device<th>version</tr>" +
         device("source", migration.source, migration.source_info) +
         device("target", migration.target, migration.target_info) + "</table><p>" +
         escaped(texts.command) + "</p><p>Took " + seconds(migration.seconds) + ".</p></html>\n";
}

}  // namespace tapml::topdown
