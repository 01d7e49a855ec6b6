// What a migration or replay found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "base/host/table.h"
#include "topdown/report/command_line.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {

// One row a kernel: kernel, functions of the model that call it, calls, largest error against the
// judge with its bound, verdict, time, shapes, model layers behind it. For a terminal of `width`
// columns and kernels of these names; `colors` marks the verdicts. Rows have no end of line.
TableLayout verdict_table(const std::vector<std::string>& names, size_t width, bool colors);
std::string verdict_header(const TableLayout& table);
std::string verdict_row(const TableLayout& table, const KernelVerdict& verdict,
                        const std::string& outcome);

// Texts that a report shows beside the numbers.
struct ReportTexts {
  std::string model;
  std::string prompt;
  std::string source_text, target_text;  // continuations
  std::string command;
  RunFacts run;
  // Beside the page lies a folder for each kernel whose tests fail, with its failing call
  // (write_failures).
  bool failures = false;
  // Of the commands that show a failure again; `max_tokens`: decode steps of the hybrid runs.
  CommandOptions options;
  // File of the page of all targets, from the folder of this one; empty: there is one target.
  std::string above;
};
// With "source_text", "target_text" and "run".
Json migration_json(const Migration& migration, const ReportTexts& texts);

// One sentence: whether it is complete.
std::string migration_verdict(const Migration& migration);
// One line: how far the logits of a whole run are from the reference's.
std::string whole_model_text(const ModelCheck& check);
// One line: what went between the two sessions in the hybrid runs.
std::string copies_text(const Migration& migration);
// Why another text on the target is none that counts: ", a tie within the error bound"; empty where
// it counts.
std::string divergence_note(const Migration& migration);
// One self-contained page.
std::string migration_html(const Migration& migration, const ReportTexts& texts);
// Writes FOLDER/KERNEL/suite for each kernel whose tests fail: the failing call alone, which
// replays without the model; FOLDER/KERNEL/kernels with the user's own source where it is one.
Status write_failures(const Migration& migration, const std::string& folder);

// A row of the same table for a kernel without a test.
std::string untested_row(const TableLayout& table, const KernelUse& kernel);

std::string replay_verdict(const Replayed& replayed);  // one sentence
// One self-contained page. `options` are those of a command that replays one kernel.
std::string replay_html(const Replayed& replayed, const std::string& command,
                        const CommandOptions& options);

// "user's own: rms_norm_485247dc (kernels/rms.cl), ..."; empty where there is none.
std::string custom_kernels_text(const std::vector<const KernelVerdict*>& verdicts);
// "group 3" of a group of kernels, else the kernel's name.
std::string test_name(const KernelVerdict& verdict);
// Of a group: "output of q_proj, ... -> input of o_proj of pytorch"; else empty.
std::string group_values_text(const KernelVerdict& verdict);
// What was granted to a kernel, and why; empty where nothing was.
std::string tolerance_text(const KernelVerdict& verdict);
// How far the source is outside of its own bound; empty where it is not.
std::string source_text(const KernelVerdict& verdict);
// Lines after the first one begin with blanks.
std::string indented(const std::string& text);

}  // namespace tapml::topdown
