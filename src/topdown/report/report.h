// Reports of a migration or replay, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "base/host/table.h"
#include "topdown/report/command_line.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {

// One row per kernel: kernel, functions of the model that call it, calls, largest error against the
// reference with its bound, verdict, time, shapes, and the model layers it is used by. For a
// terminal of `width` columns and kernels of these names; `colors` marks the verdicts. Rows have no
// end of line.
TableLayout verdict_table(const std::vector<std::string>& names, size_t width, bool colors);
std::string verdict_header(const TableLayout& table);
std::string verdict_row(const TableLayout& table, const KernelVerdict& verdict,
                        const std::string& outcome);

// Texts that a report shows in addition to the results.
struct ReportTexts {
  std::string model;
  std::string prompt;
  std::string source_text, target_text;  // continuations
  std::vector<std::string> token_texts;  // of Migration::margins
  std::string command;
  RunFacts run;
  // Next to the page is a folder for each kernel whose tests fail, with its failing call
  // (write_failures).
  bool failures = false;
  // For commands that reproduce a failure; `max_tokens`: decode steps of the hybrid runs.
  CommandOptions options;
  // The page of all targets, relative to this target's folder; empty: there is one target.
  std::string above;
};
// With "source_text", "target_text" and "run".
Json migration_json(const Migration& migration, const ReportTexts& texts);

// One sentence: whether it is complete.
std::string migration_verdict(const Migration& migration);
// One line: the error of a whole run's logits against the reference's.
std::string whole_model_text(const ModelCheck& check);
// One line: the copies between the two sessions in the hybrid runs.
std::string copies_text(const Migration& migration);
// Why a different text on the target does not count: ", a tie within the error bound"; empty if it
// counts.
std::string divergence_note(const Migration& migration);
// One self-contained page.
std::string migration_html(const Migration& migration, const ReportTexts& texts);
// Writes FOLDER/KERNEL/suite for each kernel whose tests fail: the failing call alone, which
// replays without the model; FOLDER/KERNEL/kernels with the source of a custom kernel.
Status write_failures(const Migration& migration, const std::string& folder);

// A row of the same table for a kernel without a test.
std::string untested_row(const TableLayout& table, const KernelUse& kernel);

std::string replay_verdict(const Replayed& replayed);  // one sentence
// One self-contained page. `options` are for a command that replays one kernel.
std::string replay_html(const Replayed& replayed, const std::string& command,
                        const CommandOptions& options);

// "custom kernels: rms_norm_485247dc (kernels/rms.cl), ..."; empty if there is none.
std::string custom_kernels_text(const std::vector<const KernelVerdict*>& verdicts);
// "group 3" of a group of kernels, else the kernel's name.
std::string test_name(const KernelVerdict& verdict);
// For a group: "output of q_proj, ... -> input of o_proj of pytorch"; else empty.
std::string group_values_text(const KernelVerdict& verdict);
// The kernel's tolerance with its reason; empty if it has none.
std::string tolerance_text(const KernelVerdict& verdict);
// "allowed: precision=tf32" of a kernel that needs it, "wrong even if allowed: precision=tf32";
// empty: it is right by honest rounding, or nothing is allowed.
std::string allowed_text(const KernelVerdict& verdict);
// "allowed on opencl: division=relaxed (no kernel needs it)"; empty if nothing is allowed.
std::string target_allowances_text(const std::string& target, const std::string& allowances,
                                   const std::vector<const KernelVerdict*>& verdicts);
// "1 kernel has an output without a bound: k (no element of y has a bound)"; empty: none has.
std::string unproven_text(const std::vector<const KernelVerdict*>& verdicts);
// Why a run that finds nothing wrong proves too little: "the suite is incomplete: ...", untested
// and unproven kernels, joined by "; "; empty: it proves enough.
std::string not_proven_text(const std::string& incomplete, const std::vector<KernelUse>& untested,
                            const std::vector<const KernelVerdict*>& verdicts);
// The source's error outside its own bound; empty if there is none.
std::string source_text(const KernelVerdict& verdict);
// Indents all lines but the first.
std::string indented(const std::string& text);

}  // namespace tapml::topdown
