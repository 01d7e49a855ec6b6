#include "topdown/report/report.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "base/units.h"
#include "topdown/report/report_parts.h"
#include "topdown/suite/coverage.h"

namespace tapml::topdown {

std::string test_name(const KernelVerdict& verdict) {
  return verdict.group ? "group " + std::to_string(verdict.group->index) : verdict.kernel;
}

std::string group_values_text(const KernelVerdict& verdict) {
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

std::string allowed_text(const KernelVerdict& verdict) {
  if (verdict.allowances.empty()) return "";
  return (verdict.passed ? "allowed: " : "wrong even if allowed: ") + verdict.allowances;
}

std::string target_allowances_text(const std::string& target, const std::string& allowances,
                                   const std::vector<const KernelVerdict*>& verdicts) {
  if (allowances.empty()) return "";
  const auto needed = std::ranges::count_if(verdicts, [](const KernelVerdict* verdict) {
    return verdict->passed && !verdict->allowances.empty();
  });
  return "allowed on " + target + ": " + allowances + " (" +
         (needed == 0   ? "no kernel needs it"
          : needed == 1 ? "1 kernel needs it"
                        : std::to_string(needed) + " kernels need it") +
         ")";
}

std::string unproven_text(const std::vector<const KernelVerdict*>& verdicts) {
  std::string names;
  int64_t count = 0;
  for (const KernelVerdict* verdict : verdicts) {
    if (!verdict->passed || verdict->proven()) continue;
    ++count;
    names += (names.empty() ? "" : ", ") + test_name(*verdict) + " (" + open_text(*verdict) + ")";
  }
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " kernel has" : " kernels have") +
         " an output without a bound: " + names;
}

std::string not_proven_text(const std::string& incomplete, const std::vector<KernelUse>& untested,
                            const std::vector<const KernelVerdict*>& verdicts) {
  std::string text;
  for (const std::string& reason :
       {incomplete.empty() ? "" : "the suite is incomplete: " + incomplete, untested_text(untested),
        unproven_text(verdicts)}) {
    if (!reason.empty()) text += (text.empty() ? "" : "; ") + reason;
  }
  return text;
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
  if (!worst.imprecise.empty()) {
    return "the source is imprecise: " + worst.output + " of call " +
           std::to_string(worst.sequence) + ", " + worst.imprecise;
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
  // Rows are printed one by one, so widths are typical ones.
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
  // Only the source's output was available for comparison.
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

std::string custom_kernels_text(const std::vector<const KernelVerdict*>& verdicts) {
  std::string text;
  for (const KernelVerdict* verdict : verdicts) {
    const std::string file = user_file(*verdict);
    if (file.empty()) continue;
    text += (text.empty() ? "custom kernels: " : ", ") + verdict->kernel + " (" + file + ")";
  }
  return text;
}

Json migration_json(const Migration& migration, const ReportTexts& texts) {
  Json json = migration_json(migration);
  json.set("source_text", Json::string(texts.source_text));
  json.set("target_text", Json::string(texts.target_text));
  json.set("run", run_json(texts.run, texts.command));
  return json;
}

std::string migration_verdict(const Migration& migration) {
  if (migration.source_nan) return source_nan_text(*migration.source_nan) + ".";
  if (migration.error) {
    return "Ended by an error, with " + counted(std::ssize(migration.steps), "kernel") +
           " tried: " + migration.error->message + ".";
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
             untested_text(migration.untested) + ". Check the untested kernels first.";
    }
    if (migration.repeated.flaky()) {
      return "Every kernel migrated, and the target alone is wrong in " +
             std::to_string(migration.repeated.wrong) + " of " +
             std::to_string(migration.repeated.runs) +
             " runs: flaky, and any kernel may be at fault.";
    }
    return "Every kernel migrated, and the target alone is wrong: check its memory plan and "
           "its runtime.";
  }
  const std::string missing = not_proven_text("", migration.untested, verdicts_of(migration));
  if (missing.empty()) return "The migration is not complete.";
  return "Nothing is wrong in what was tested, but " + missing + ".";
}

std::string whole_model_text(const ModelCheck& check) {
  if (check.cosine_distance) {
    return compared_text(check) + ": error " + number(check.max_abs) + ", bound " +
           number(check.bound) + ", cosine distance " + number(*check.cosine_distance) +
           " at most" + (check.allowances.empty() ? "" : "; allowed: " + check.allowances);
  }
  char agreement[32];
  std::snprintf(agreement, sizeof agreement, "%.1f%%", 100 * check.top_k_agreement);
  const std::string divergence = divergence_text(check);
  return "logits of " + std::to_string(check.positions) + " tokens: error " +
         number(check.max_abs) + ", bound " + number(check.bound) + ", KL divergence " +
         number(check.kl_max) + " at most, top " + std::to_string(ModelCheck::kTopK) +
         " agreement " + agreement + ", " +
         (divergence.empty() ? "the most likely token is the reference's everywhere"
                             : "first different candidate: " + divergence) +
         (check.allowances.empty() ? "" : "; allowed: " + check.allowances);
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
