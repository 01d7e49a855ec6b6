#include "topdown/report/localize_report.h"

#include <algorithm>

#include "base/host/terminal.h"
#include "base/strings.h"
#include "io/host/files.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/suite/coverage.h"

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
  // A kernel without tests did not pass them.
  return std::string(v.calls > 0 ? "its tests pass" : "it has no tests") + "; " +
         compared_name(culprit.hybrid) + " with it on the target: error " +
         number(culprit.hybrid.max_abs) + ", allowed " + number(culprit.hybrid.bound);
}

// Whether a line of generated code stores to the buffer: "out_0[...] = ..." or "out_0_store(...)",
// for a buffer with the name `out`.
bool stores_to(std::string_view line, const std::string& buffer) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with(buffer)) return false;
  line.remove_prefix(buffer.size());
  if (line.starts_with('_')) {
    line.remove_prefix(std::min(line.find_first_not_of("0123456789", 1), line.size()));
  }
  return line.starts_with("_store(") ||
         (line.starts_with('[') && line.find("] = ") != std::string_view::npos);
}

// "kernel.wgsl:46": the first line of the code that stores to the wrong output; empty if there is
// none.
std::string store_place(const Culprit& culprit) {
  const std::string& output = culprit.verdict.worst_output;
  if (culprit.verdict.passed || output.empty() || culprit.source.loops.empty()) return "";
  int64_t number = 0;
  for (std::string_view rest = culprit.source.code; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    ++number;
    if (stores_to(rest.substr(0, end), output)) {
      return "kernel" + culprit.source.ending + ":" + std::to_string(number);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

std::string dims_text(const std::vector<std::pair<std::string, int64_t>>& dims) {
  const auto text = [](const std::pair<std::string, int64_t>& dim) {
    return dim.first + " = " + std::to_string(dim.second);
  };
  return dims.empty() ? "no symbolic dimensions" : join(dims, text);
}

}  // namespace

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
                     ")\n  used by: " + layers_summary(culprit.verdict.origin);
  if (const std::string lines = lines_summary(culprit.verdict.origin); !lines.empty()) {
    text += "\n  made by: " + lines;
  }
  text += "\n  " + indented(error_text(culprit));
  if (const std::string place = store_place(culprit); !place.empty()) {
    text += "\n  stored by: " + place;
  }
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
      return "no kernel with tests is wrong on " + localization.target + ", but the model is; " +
             untested_text(localization.untested) +
             (localization.whole.failure.empty() ? "" : ": " + localization.whole.failure);
    }
    return "no kernel is wrong, but the model is: check the memory plan and the runtime of " +
           localization.target +
           (localization.whole.failure.empty() ? "" : ": " + localization.whole.failure);
  }
  if (localization.verdict() == Verdict::kNotProven) {
    return "nothing is wrong in what was tested on " + localization.target + ", but " +
           not_proven_text(localization.incomplete, localization.untested,
                           verdicts_of(localization));
  }
  return "nothing is wrong on " + localization.target;
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
    const std::string file = "kernel" + culprit.source.ending;
    TAPML_TRY(write_text_atomic(folder + "/" + file, culprit.source.code));
    code +=
        code.empty() ? "`" + file + "` is its code, written by hand" : ", `" + file + "` its code";
  }
  TAPML_TRY(write_custom_source(culprit.verdict, culprit.source, folder));
  std::string readme = "# " + culprit.kernel + " on " + target + "\n\n" + found_text(culprit) +
                       ", " + rate_text(culprit) + "\n\n    " + error_text(culprit) +
                       "\n\nUsed by: " + layers_summary(culprit.verdict.origin) + ".\n";
  if (const std::string lines = lines_summary(culprit.verdict.origin); !lines.empty()) {
    readme += "\nMade by: " + lines + ".\n";
  }
  if (const std::string place = store_place(culprit); !place.empty()) {
    readme += "\nStored by: " + place + ".\n";
  }
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
  if (!command.empty()) readme += " To reproduce it, run in this folder:\n\n    " + command + "\n";
  if (!code.empty()) readme += "\n" + code + ".\n";
  return write_text_atomic(folder + "/README.md", readme);
}

}  // namespace tapml::topdown
