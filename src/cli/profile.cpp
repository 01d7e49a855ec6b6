// tapml profile: shows where a run spends its time, kernel by kernel.
#include "app/commands/profile.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/trace.h"
#include "topdown/report/report_parts.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct ProfileOptions {
  ModelOptions model;
  std::string prompt = "The quick brown fox";
  int64_t max_tokens = 32;
  TraceOptions trace;
};

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

void print(const Output& output, const std::vector<topdown::KernelProfile>& kernels, double seconds,
           const topdown::Ceilings& ceilings) {
  std::vector<TableRow> rows;
  for (const topdown::KernelProfile& kernel : kernels) {
    const double share = kernel.share(ceilings);
    const char* about = kernel.work.exact ? "" : "~";
    rows.push_back({kernel.name, topdown::used_in(kernel.functions), std::to_string(kernel.calls),
                    time_text(kernel.seconds), format("%.1f%%", 100 * kernel.seconds / seconds),
                    about + format("%.2f", 1e-9 * kernel.work.bytes / kernel.seconds),
                    about + format("%.2f", 1e-9 * kernel.work.flops / kernel.seconds),
                    share > 0 ? format("%.0f%%", 100 * share) : "-", layers_summary(kernel.origin),
                    lines_summary(kernel.origin)});
  }
  const std::vector<TableColumn> columns = {{.name = "kernel"},
                                            {.name = "in"},
                                            {.name = "calls", .number = true},
                                            {.name = "time", .number = true},
                                            {.name = "share", .number = true},
                                            {.name = "GB/s", .number = true},
                                            {.name = "GFLOP/s", .number = true},
                                            {.name = "ceiling", .number = true},
                                            {.name = "layers", .below = true},
                                            {.name = "made by", .below = true}};
  for (const std::string& line : table_lines(columns, rows, text_width(STDOUT_FILENO))) {
    output.line(line);
  }
}

int run(const ProfileOptions& options, const Output& output) {
  const ProfileCommand command{options.model, options.prompt, options.max_tokens};
  std::optional<Trace> trace;
  Progress progress = Progress::to_stderr(output.json);
  CommandHooks hooks = command_hooks(progress);
  hooks.checked = [&] { trace.emplace(options.trace); };
  hooks.opened = [&](runtime::Session& session, const std::string& role) {
    trace->begin(session, role);
  };
  const topdown::Profiled profiled =
      profile(command, hooks, [&](const topdown::TraceTrack& calls) { trace->write({calls}); });
  progress.end("done");

  const topdown::Ceilings& ceilings = profiled.ceilings;
  print(output, profiled.kernels, profiled.seconds, ceilings);
  output.line("sum of kernels " + time_text(profiled.seconds) + "; ceilings " +
              format("%.1f GFLOP/s", 1e-9 * ceilings.flops_per_s) + ", " +
              format("%.1f GB/s", 1e-9 * ceilings.bytes_per_s));
  output.document(topdown::profiled_json(profiled));
  return kDone;
}

}  // namespace

void add_profile(Registration registration) {
  auto* command = registration.app.add_subcommand(
      "profile", "Show where a run spends its time, kernel by kernel");
  command->footer("Example: tapml profile models/demo --target cpu --trace out/trace.json");
  auto options = std::make_shared<ProfileOptions>();
  add_options(*command, options->model);
  command->add_option("--prompt", options->prompt, "Text to run")->capture_default_str();
  command->add_option("--max-tokens", options->max_tokens, "Most decode steps of the run")
      ->capture_default_str();
  add_options(*command, options->trace);
  set_runner(*command, registration, options, run);
}

}  // namespace tapml::cli
