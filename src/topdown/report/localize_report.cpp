#include "topdown/report/localize_report.h"

#include <algorithm>

#include "base/host/terminal.h"
#include "base/strings.h"
#include "io/host/files.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"

namespace tapml::topdown {

namespace {

std::string error_text(const Culprit& culprit) {
  const KernelVerdict& v = culprit.verdict;
  if (v.failed != Failure::kNone) return v.failure;
  if (!v.passed) {
    const Errors& errors = v.worst.target;
    const std::string size = errors.mask_mismatches > 0
                                 ? std::to_string(errors.mask_mismatches) + " NaN or infinite"
                                 : "error " + number(errors.max_abs) + ", allowed " +
                                       number(v.worst.allowed) + ", " + number(errors.max_ulp) +
                                       " ULP";
    return v.worst_output + " of call " + std::to_string(v.worst_sequence) + ": " + size;
  }
  if (!culprit.hybrid.failure.empty()) return culprit.hybrid.failure;
  // What was not tested did not pass.
  return (v.calls > 0 ? "its tests pass" : "it has no tests") +
         std::string("; logits with it on the target: error ") + number(culprit.hybrid.max_abs) +
         ", allowed " + number(culprit.hybrid.bound);
}

std::string dims_text(const std::vector<std::pair<std::string, int64_t>>& dims) {
  const auto text = [](const std::pair<std::string, int64_t>& dim) {
    return dim.first + " = " + std::to_string(dim.second);
  };
  return dims.empty() ? "no symbolic dimensions" : join(dims, text);
}

Json dims_json(const std::vector<std::pair<std::string, int64_t>>& dims) {
  std::vector<std::pair<std::string, Json>> fields;
  for (const auto& [name, value] : dims) fields.emplace_back(name, Json::integer(value));
  return Json::object(std::move(fields));
}

Json smallest_json(const SmallestCall& smallest) {
  return Json::object({{"dims_before", dims_json(smallest.dims_before)},
                       {"dims", dims_json(smallest.dims_after)},
                       {"bytes_before", Json::integer(smallest.bytes_before)},
                       {"bytes", Json::integer(smallest.bytes_after)},
                       {"nonzero_before", Json::integer(smallest.nonzero_before)},
                       {"nonzero", Json::integer(smallest.nonzero_after)},
                       {"tries", Json::integer(smallest.tries)},
                       {"complete", Json::boolean(smallest.complete)},
                       {"verdict", verdict_json(smallest.verdict)}});
}

Json culprit_json(const Culprit& culprit) {
  auto names = [](const std::vector<std::string>& kernels) {
    std::vector<Json> list;
    for (const std::string& name : kernels) list.push_back(Json::string(name));
    return Json::array(std::move(list));
  };
  Json json = verdict_json(culprit.verdict);
  json.set("outcome", Json::string(found_text(culprit)));
  json.set("found_by", Json::string(evidence_name(culprit.evidence)));
  json.set("together_with", names(culprit.together_with));
  json.set("same_preparation", names(culprit.same_preparation));
  json.set("runs", Json::integer(culprit.runs));
  json.set("failed_runs", Json::integer(culprit.failed_runs));
  if (culprit.evidence != Evidence::kReplay) json.set("hybrid", check_json(culprit.hybrid));
  if (culprit.smallest) json.set("smallest", smallest_json(*culprit.smallest));
  json.set("loops", Json::string(culprit.source.loops));
  json.set("code", Json::string(culprit.source.code));
  json.set("language", Json::string(culprit.source.language));
  return json;
}

}  // namespace

std::string found_text(const Culprit& culprit) {
  if (culprit.evidence == Evidence::kReplay) return verdict_outcome(culprit.verdict);
  return culprit.hybrid.failure.empty() ? "wrong in the model" : "fails in the model";
}

std::string rate_text(const Culprit& culprit) {
  const bool launches = culprit.evidence == Evidence::kReplay && culprit.verdict.launches.flaky;
  return std::to_string(culprit.failed_runs) + " of " + std::to_string(culprit.runs) +
         (launches ? " launches" : " runs");
}

std::string smallest_text(const SmallestCall& smallest) {
  return dims_text(smallest.dims_after) + "; " + std::to_string(smallest.bytes_after) + " of " +
         std::to_string(smallest.bytes_before) + " bytes, " +
         std::to_string(smallest.nonzero_after) + " of " + std::to_string(smallest.nonzero_before) +
         " elements not zero" + (smallest.complete ? "" : " (time ran out)");
}

std::string culprit_text(const Culprit& culprit, bool colors) {
  std::string text = styled("culprit: kernel " + culprit.kernel, Style::kRed, colors) + " (" +
                     found_text(culprit) + ", " + rate_text(culprit) +
                     ")\n  layers behind it: " + origin_summary(culprit.verdict.origin) + "\n  " +
                     indented(error_text(culprit));
  if (!culprit.together_with.empty()) {
    text += "\n  only together with " + join(culprit.together_with);
  }
  if (!culprit.same_preparation.empty()) {
    text += "\n  may be wrong in how weights are packed at load: the launches are shared with " +
            join(culprit.same_preparation);
  }
  if (culprit.smallest) {
    text += "\n  smallest failing input: " + smallest_text(*culprit.smallest);
  }
  return text;
}

namespace {

std::string flaky_lines(const Localization& localization) {
  std::string text;
  for (const RepeatedCheck& repeated : localization.flaky) text += "\n  " + flaky_text(repeated);
  return text;
}

}  // namespace

std::string localization_text(const Localization& localization) {
  if (localization.source_nan) return source_nan_text(*localization.source_nan);
  if (!localization.culprits.empty()) {
    const size_t count = localization.culprits.size();
    return std::to_string(count) + (count == 1 ? " kernel is" : " kernels are") + " wrong on " +
           localization.target + flaky_lines(localization);
  }
  if (!localization.flaky.empty()) return "no kernel is named" + flaky_lines(localization);
  if (localization.found()) {
    if (!localization.untested.empty()) {
      return "no kernel with tests is wrong on " + localization.target + ", and the model is; " +
             untested_text(localization.untested) +
             (localization.whole.failure.empty() ? "" : ": " + localization.whole.failure);
    }
    return "no kernel is wrong, and the model is: look at what " + localization.target +
           " does around them (memory plan, runtime)" +
           (localization.whole.failure.empty() ? "" : ": " + localization.whole.failure);
  }
  if (localization.verdict() == Verdict::kNotProven) {
    std::string text = "nothing is wrong in what was tested on " + localization.target;
    if (!localization.incomplete.empty()) {
      text += ", but the suite is incomplete: " + localization.incomplete;
    }
    if (!localization.untested.empty()) {
      text += (localization.incomplete.empty() ? ", but " : "; ") +
              untested_text(localization.untested);
    }
    return text;
  }
  return "nothing is wrong on " + localization.target;
}

Json localization_json(const Localization& localization) {
  std::vector<Json> culprits, names, kernels;
  for (const Culprit& culprit : localization.culprits) {
    culprits.push_back(culprit_json(culprit));
    names.push_back(Json::string(culprit.kernel));
  }
  for (const KernelVerdict& verdict : localization.verdicts) {
    Json json = verdict_json(verdict);
    json.set("outcome", Json::string(verdict_outcome(verdict)));
    kernels.push_back(std::move(json));
  }
  std::vector<Json> flaky;
  for (const RepeatedCheck& repeated : localization.flaky) flaky.push_back(repeated_json(repeated));
  return Json::object({{"source", Json::string(localization.source)},
                       {"target", Json::string(localization.target)},
                       {"source_device", device_json(localization.source_info)},
                       {"target_device", device_json(localization.target_info)},
                       {"nan", source_nan_json(localization.source_nan)},
                       {"found", Json::boolean(localization.found())},
                       {"verdict", Json::string(verdict_word(localization.verdict()))},
                       {"culprits", Json::array(std::move(names))},
                       {"findings", Json::array(std::move(culprits))},
                       {"flaky", Json::array(std::move(flaky))},
                       {"kernels", Json::array(std::move(kernels))},
                       {"untested", kernel_uses_json(localization.untested)},
                       {"incomplete", Json::string(localization.incomplete)},
                       {"hybrid_runs", Json::integer(localization.hybrid_runs)},
                       {"rest", check_json(localization.rest)},
                       {"target_ran_alone", Json::boolean(localization.target_ran)},
                       {"whole_model", check_json(localization.whole)},
                       {"timeline", timeline_json(localization.timeline)},
                       {"seconds", real(localization.seconds)}});
}

std::string reproducer_command(const Culprit& culprit, const std::string& target,
                               const CommandOptions& options) {
  if (!culprit.smallest && !culprit.failing) return "";
  return replay_command(
      "suite", target, "",
      options_of_reproducer(with_absolute_paths(options), culprit.verdict, "kernels"));
}

Status write_reproducer(const Culprit& culprit, const std::string& target,
                        const CommandOptions& options, const std::string& folder) {
  TAPML_TRY(make_folder(folder));
  std::string code;
  if (!culprit.source.loops.empty()) {
    TAPML_TRY(write_text_atomic(folder + "/loops.txt", culprit.source.loops));
    code = "`loops.txt` is the tensor program that the target runs";
  }
  if (!culprit.source.code.empty()) {
    const std::string file = culprit.source.file_name();
    TAPML_TRY(write_text_atomic(folder + "/" + file, culprit.source.code));
    code +=
        code.empty() ? "`" + file + "` is its code, written by hand" : ", `" + file + "` its code";
  }
  TAPML_TRY(write_user_source(culprit.verdict, culprit.source, folder));
  std::string readme =
      "# " + culprit.kernel + " on " + target + "\n\n" + found_text(culprit) + ", " +
      rate_text(culprit) + "\n\n    " + error_text(culprit) +
      "\n\nLayers of the model behind it: " + origin_summary(culprit.verdict.origin) + ".\n";
  const std::string command = reproducer_command(culprit, target, options);
  if (culprit.smallest) {
    TAPML_TRY(save_suite(culprit.smallest->suite, folder + "/suite"));
    readme += "\n`suite` holds the smallest failing input that was found: " +
              smallest_text(*culprit.smallest) + ".";
  } else if (culprit.failing) {
    TAPML_TRY(save_suite(*culprit.failing, folder + "/suite"));
    readme += "\n`suite` holds the failing call, as it was carved.";
  } else if (culprit.verdict.passed) {
    readme += culprit.verdict.calls > 0 ? "\nIts carved tests pass: it fails only in the model.\n"
                                        : "\nIt has no carved test: it fails in the model.\n";
  }
  if (!command.empty()) readme += " To see it again, here:\n\n    " + command + "\n";
  if (!code.empty()) readme += "\n" + code + ".\n";
  return write_text_atomic(folder + "/README.md", readme);
}

}  // namespace tapml::topdown
