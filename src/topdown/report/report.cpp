#include "topdown/report/report.h"

#include <cmath>

#include "base/strings.h"
#include "base/units.h"
#include "io/error_json.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/speed_table.h"

namespace tapml::topdown {

std::string verdict_outcome(const KernelVerdict& verdict) {
  if (verdict.failed != Failure::kNone) return failure_name(verdict.failed);
  return verdict.passed ? "pass" : "differs";
}

std::string outcome_of(const MigrationStep& step) {
  if (step.migrated) return "migrated";
  if (!step.verdict.passed) return verdict_outcome(step.verdict);
  if (step.repeated.flaky()) return "flaky";
  return step.hybrid.failure.empty() ? "hybrid differs" : "hybrid fails";
}

std::string test_name(const KernelVerdict& verdict) {
  return verdict.group ? "group " + std::to_string(verdict.group->index) : verdict.kernel;
}

std::string borders_text(const KernelVerdict& verdict) {
  if (!verdict.group) return "";
  auto listed = [](const std::vector<std::string>& names) {
    return names.empty() ? "nothing" : join(names);
  };
  return listed(verdict.group->inputs) + " -> " + listed(verdict.group->outputs) + " of " +
         verdict.group->source;
}

std::string tolerance_text(const KernelVerdict& verdict) {
  if (!verdict.tolerance) return "";
  const Tolerance& tolerance = *verdict.tolerance;
  char text[96];
  std::snprintf(text, sizeof text, "bound times %g plus %g (", tolerance.factor,
                tolerance.absolute);
  return text + std::string(verdict.tolerated ? "needed" : "not needed") + "): " + tolerance.reason;
}

std::string source_text(const KernelVerdict& verdict) {
  if (!verdict.source_wrong) return "";
  std::string text = "the source is outside of its own bound";
  if (!verdict.source_error) return text;
  const SourceError& worst = *verdict.source_error;
  text += ": " + worst.output + " of call " + std::to_string(worst.sequence) + ", ";
  if (worst.mask_mismatches > 0) {
    return text + std::to_string(worst.mask_mismatches) +
           (worst.mask_mismatches == 1 ? " element that is" : " elements that are") +
           " NaN or infinite on one side only";
  }
  return text + "error " + number(worst.error) + ", bound " + number(worst.bound);
}

std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

TableLayout verdict_table(const std::vector<std::string>& names, size_t width, bool colors) {
  // Rows come one after the other: as wide as they usually are.
  std::vector<TableRow> sample;
  for (const std::string& name : names) {
    sample.push_back({name, "prefill", "999", "1.00e-07", "1.00e-07", "migrated", "0.10 s",
                      "[1, 12, 192] [1, 1, 192]",
                      "layers.{0..29}.post_attention_layernorm, layers.{0..29}.mlp"});
  }
  return {{{.name = "kernel"},
           {.name = "in"},
           {.name = "calls", .number = true},
           {.name = "error", .number = true},
           {.name = "bound", .number = true},
           {.name = "verdict"},
           {.name = "time", .number = true},
           {.name = "shapes", .below = true},
           {.name = "layers", .below = true}},
          sample,
          width,
          colors};
}

std::string verdict_header(const TableLayout& table) { return join(table.header(), "\n"); }

std::string verdict_row(const TableLayout& table, const KernelVerdict& verdict,
                        const std::string& outcome) {
  const bool good = outcome == "migrated" || outcome == "pass";
  // Nothing but the source's output was there to judge by.
  const std::string shown = outcome + (verdict.against_source ? " (source only)" : "");
  const double error =
      verdict.worst.target.mask_mismatches > 0 ? NAN : verdict.worst.target.max_abs;
  return join(table.row({test_name(verdict),
                         used_in(verdict),
                         std::to_string(verdict.calls),
                         std::isnan(error) ? "nan/inf" : number(error),
                         number(verdict.worst.allowed),
                         {shown, good ? Style::kGreen : Style::kRed},
                         seconds(verdict.seconds),
                         shapes_text(verdict),
                         layers_text(verdict)}),
              "\n");
}

std::string untested_row(const TableLayout& table, const KernelUse& kernel) {
  return join(table.row({kernel.kernel,
                         "",
                         "0",
                         "",
                         "",
                         {"untested", Style::kRed},
                         "",
                         "",
                         layers_text(kernel.origin)}),
              "\n");
}

namespace {

Json launches_json(const LaunchCount& count) {
  return Json::object({{"count", Json::integer(count.launches)},
                       {"wrong", Json::integer(count.wrong)},
                       {"unequal", Json::integer(count.unequal)},
                       {"seed", Json::integer(static_cast<int64_t>(count.seed))},
                       {"flaky", Json::boolean(count.flaky)},
                       {"cut", Json::boolean(count.cut)}});
}

}  // namespace

Json verdict_json(const KernelVerdict& verdict) {
  std::vector<Json> layers, shapes;
  for (const std::string& layer : verdict.origin) layers.push_back(Json::string(layer));
  for (const std::string& shape : verdict.shapes) shapes.push_back(Json::string(shape));
  Json json = Json::object({{"kernel", Json::string(verdict.kernel)},
                            {"layers", Json::array(std::move(layers))},
                            {"calls", Json::integer(verdict.calls)},
                            {"shapes", Json::array(std::move(shapes))},
                            {"passed", Json::boolean(verdict.passed)},
                            {"source_wrong", Json::boolean(verdict.source_wrong)},
                            {"against_source_only", Json::boolean(verdict.against_source)},
                            {"failed", Json::string(failure_name(verdict.failed))},
                            {"failure", Json::string(verdict.failure)},
                            {"note", Json::string(verdict.note)},
                            {"provider", Json::string(verdict.provider)},
                            {"worst_output", Json::string(verdict.worst_output)},
                            {"worst_call", Json::integer(verdict.worst_sequence)},
                            {"judged_elements", Json::integer(verdict.judged)},
                            {"elements", Json::integer(verdict.elements)},
                            {"allowed", real(verdict.worst.allowed)},
                            {"target", errors_json(verdict.worst.target)},
                            {"source", errors_json(verdict.worst.source)},
                            {"launches", launches_json(verdict.launches)},
                            {"call_groups", groups_json(verdict.groups)},
                            {"seconds", real(verdict.seconds)}});
  if (verdict.group) {
    const JudgedGroup& group = *verdict.group;
    json.set("group", Json::integer(static_cast<int64_t>(group.index)));
    json.set("trusted", Json::string(group.source));
    for (const auto& [key, names] :
         {std::pair{"kernels", &group.kernels}, std::pair{"inputs", &group.inputs},
          std::pair{"outputs", &group.outputs}}) {
      std::vector<Json> items;
      for (const std::string& name : *names) items.push_back(Json::string(name));
      json.set(key, Json::array(std::move(items)));
    }
  }
  if (verdict.difference) json.set("difference", difference_json(*verdict.difference));
  if (verdict.source_error) {
    const SourceError& worst = *verdict.source_error;
    json.set("source_error",
             Json::object({{"output", Json::string(worst.output)},
                           {"call", Json::integer(worst.sequence)},
                           {"error", real(worst.error)},
                           {"bound", real(worst.bound)},
                           {"error_over_bound", real(worst.ratio)},
                           {"nan_inf_mismatches", Json::integer(worst.mask_mismatches)}}));
  }
  if (verdict.tolerance) {
    json.set("tolerance", Json::object({{"kernel", Json::string(verdict.tolerance->kernel)},
                                        {"factor", real(verdict.tolerance->factor)},
                                        {"absolute", real(verdict.tolerance->absolute)},
                                        {"reason", Json::string(verdict.tolerance->reason)},
                                        {"decided", Json::boolean(verdict.tolerated)}}));
  }
  return json;
}

namespace {

Json copies_json(const runtime::CopyCount& copies) {
  return Json::object({{"to_target", Json::integer(copies.to_target)},
                       {"bytes_to_target", Json::integer(copies.bytes_to_target)},
                       {"from_target", Json::integer(copies.from_target)},
                       {"bytes_from_target", Json::integer(copies.bytes_from_target)}});
}

Json names_json(const std::vector<std::string>& names) {
  std::vector<Json> items;
  for (const std::string& name : names) items.push_back(Json::string(name));
  return Json::array(std::move(items));
}

}  // namespace

Json repeated_json(const RepeatedCheck& repeated) {
  return Json::object({{"runs", Json::integer(repeated.runs)},
                       {"wrong", Json::integer(repeated.wrong)},
                       {"flaky", Json::boolean(repeated.flaky())},
                       {"candidates", names_json(repeated.candidates)}});
}

Json layers_json(const std::vector<LayerStep>& layers) {
  std::vector<Json> items;
  for (const LayerStep& layer : layers) {
    items.push_back(Json::object({{"layer", Json::string(layer.layer)},
                                  {"kernels", names_json(layer.kernels)},
                                  {"left", names_json(layer.left)},
                                  {"tried", Json::boolean(layer.tried)},
                                  {"hybrid", check_json(layer.hybrid)},
                                  {"dispatched", Json::integer(layer.dispatched)},
                                  {"copies", copies_json(layer.copies)},
                                  {"repeated", repeated_json(layer.repeated)}}));
  }
  return Json::array(std::move(items));
}

Json step_json(const MigrationStep& step) {
  Json json = verdict_json(step.verdict);
  json.set("outcome", Json::string(outcome_of(step)));
  json.set("unit", Json::string(step.unit));
  json.set("migrated", Json::boolean(step.migrated));
  json.set("hybrid", check_json(step.hybrid));
  json.set("dispatched", Json::integer(step.dispatched));
  json.set("copies", copies_json(step.copies));
  json.set("repeated", repeated_json(step.repeated));
  return json;
}

std::string user_file(const KernelVerdict& verdict) {
  constexpr std::string_view kUser = "user:";
  return verdict.provider.starts_with(kUser) ? verdict.provider.substr(kUser.size()) : "";
}

std::string user_kernels_text(const std::vector<const KernelVerdict*>& verdicts) {
  std::string text;
  for (const KernelVerdict* verdict : verdicts) {
    const std::string file = user_file(*verdict);
    if (file.empty()) continue;
    text += (text.empty() ? "user's own: " : ", ") + verdict->kernel + " (" + file + ")";
  }
  return text;
}

Json user_kernels_json(const std::vector<const KernelVerdict*>& verdicts) {
  Json json = Json::object({});
  for (const KernelVerdict* verdict : verdicts) {
    const std::string file = user_file(*verdict);
    if (!file.empty()) json.set(verdict->kernel, Json::string(file));
  }
  return json;
}

std::vector<const KernelVerdict*> verdicts_of(const Migration& migration) {
  std::vector<const KernelVerdict*> verdicts;
  for (const MigrationStep& step : migration.steps) verdicts.push_back(&step.verdict);
  return verdicts;
}

Json migration_json(const Migration& migration, const ReportTexts& texts) {
  Json json = migration_json(migration);
  json.set("source_text", Json::string(texts.source_text));
  json.set("target_text", Json::string(texts.target_text));
  json.set("run", run_json(texts.run, texts.command));
  return json;
}

Json migration_json(const Migration& migration) {
  std::vector<Json> steps, culprits, flaky, untried;
  for (const MigrationStep& step : migration.steps) {
    steps.push_back(step_json(step));
    if (step.accused()) culprits.push_back(Json::string(step.verdict.kernel));
    if (!step.migrated && !step.accused()) flaky.push_back(Json::string(step.verdict.kernel));
  }
  for (const std::string& name : migration.untried) untried.push_back(Json::string(name));
  Json json = Json::object({{"source", Json::string(migration.source)},
                            {"target", Json::string(migration.target)},
                            {"source_device", device_json(migration.source_info)},
                            {"target_device", device_json(migration.target_info)},
                            {"nan", source_nan_json(migration.source_nan)},
                            {"passed", Json::boolean(migration.passed())},
                            {"verdict", Json::string(verdict_word(migration.verdict()))},
                            {"culprits", Json::array(std::move(culprits))},
                            {"flaky", Json::array(std::move(flaky))},
                            {"kernels", Json::array(std::move(steps))},
                            {"user_kernels", user_kernels_json(verdicts_of(migration))},
                            {"untried", Json::array(std::move(untried))},
                            {"untested", kernel_uses_json(migration.untested)},
                            {"resumed", Json::integer(migration.resumed)},
                            {"target_ran_alone", Json::boolean(migration.target_ran)},
                            {"whole_model", check_json(migration.whole)},
                            {"repeated", repeated_json(migration.repeated)},
                            {"source_tokens", tokens_json(migration.source_tokens)},
                            {"target_tokens", tokens_json(migration.target_tokens)},
                            {"first_divergence", Json::integer(migration.first_divergence)},
                            {"tie", Json::boolean(migration.tie)},
                            {"drawn", Json::boolean(migration.drawn)},
                            {"speed", speed_json(migration.speed)},
                            {"timeline", timeline_json(migration.timeline)},
                            {"seconds", real(migration.seconds)}});
  if (!migration.layers.empty()) json.set("layers", layers_json(migration.layers));
  if (migration.error) json.set("error", error_json(*migration.error));
  return json;
}

std::string migration_verdict(const Migration& migration) {
  if (migration.source_nan) return source_nan_text(*migration.source_nan) + ".";
  if (migration.error) {
    return "Ended by an error, with " + std::to_string(migration.steps.size()) +
           " kernels tried: " + migration.error->message + ".";
  }
  if (migration.passed()) return "Every kernel migrated; the target runs the whole model.";
  const size_t left = migration.culprits().size();
  if (left > 0) {
    return "The migration is not complete: " + std::to_string(left) +
           (left == 1 ? " kernel stays" : " kernels stay") + " on the source" +
           (migration.untried.empty()
                ? "."
                : ", " + std::to_string(migration.untried.size()) + " were not tried.");
  }
  if (migration.target_ran && !migration.whole_passed()) {
    if (!migration.untested.empty()) {
      return "Every kernel with tests migrated, and the target alone is wrong; " +
             untested_text(migration.untested) + ". Look there first.";
    }
    if (migration.repeated.flaky()) {
      return "Every kernel migrated, and the target alone is wrong in " +
             std::to_string(migration.repeated.wrong) + " of " +
             std::to_string(migration.repeated.runs) +
             " runs: flaky, and any kernel may be at fault.";
    }
    return "Every kernel migrated, and the target alone is wrong: look at what it does around "
           "kernels (memory plan, runtime).";
  }
  if (migration.untested.empty()) return "The migration is not complete.";
  return "Nothing is wrong in what was tested, but " + untested_text(migration.untested) + ".";
}

std::string whole_model_text(const ModelCheck& check) {
  char agreement[32];
  std::snprintf(agreement, sizeof agreement, "%.1f%%", 100 * check.top_k_agreement);
  const std::string divergence = divergence_text(check);
  return "logits of " + std::to_string(check.positions) + " tokens: error " +
         number(check.max_abs) + ", bound " + number(check.bound) + ", KL divergence " +
         number(check.kl_max) + " at most, top " + std::to_string(ModelCheck::kTopK) +
         " agreement " + agreement + ", " +
         (divergence.empty() ? "the likeliest token is the judge's everywhere"
                             : "first different candidate: " + divergence);
}

std::string divergence_note(const Migration& migration) {
  if (migration.first_divergence < 0) return "";
  if (migration.drawn) return ", where rounding decides between tokens that are drawn";
  return migration.tie ? ", a tie within the error bound" : "";
}

std::string copies_text(const Migration& migration) {
  runtime::CopyCount sum;
  for (const MigrationStep& step : migration.steps) sum += step.copies;
  for (const LayerStep& layer : migration.layers) sum += layer.copies;
  const auto part = [](int64_t copies, int64_t bytes, const char* way) {
    return std::to_string(copies) + " " + way + " (" + size_text(bytes) + ")";
  };
  return "copies between the two in hybrid runs: " +
         part(sum.to_target, sum.bytes_to_target, "to the target") + ", " +
         part(sum.from_target, sum.bytes_from_target, "from it");
}

}  // namespace tapml::topdown
