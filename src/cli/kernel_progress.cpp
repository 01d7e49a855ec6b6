#include "cli/kernel_progress.h"

#include <algorithm>
#include <map>

#include "base/host/interrupt.h"
#include "base/units.h"
#include "ir/exceptions.h"
#include "topdown/report/report_parts.h"

namespace tapml::cli {

std::function<void(const std::string& step, int64_t done, int64_t total)> kernel_progress(
    Progress& progress, const std::string& phase) {
  return [&progress, phase, stepping = false](const std::string& step, int64_t done,
                                              int64_t total) mutable {
    unwrap(check_interrupted());
    if (total == 0 || done == total) {
      stepping = false;
      if (total == 0) progress.begin(step);
      if (total != 0) progress.end(counted(total, step == "layers" ? "layer" : "kernel"));
      return;
    }
    if (!stepping) progress.begin(phase.empty() ? step.substr(0, step.find(' ')) : phase, total);
    stepping = true;
    progress.step(step);
  };
}

namespace {

std::string detail_of(const topdown::KernelVerdict& verdict) {
  if (verdict.failed != topdown::Failure::kNone) {
    return verdict.failure.substr(0, verdict.failure.find('\n'));
  }
  const topdown::Errors& errors = verdict.worst.target;
  const std::string size = errors.mask_mismatches > 0
                               ? std::to_string(errors.mask_mismatches) + " NaN or inf"
                               : topdown::number(errors.max_ratio) + " of its bound";
  return size + ", " + counted(verdict.calls, "call") + ", " + topdown::seconds(verdict.seconds);
}

// The text of a row for a stage.
void show(const topdown::KernelEvent& event, ProgressRow& row) {
  using topdown::KernelStage;
  row.started = event.stage != KernelStage::kWaiting;
  row.ended = event.stage == KernelStage::kDone;
  row.failed = row.ended && !event.good;
  switch (event.stage) {
    case KernelStage::kWaiting:
      row.state = "waiting";
      row.style = Style::kDim;
      break;
    case KernelStage::kTesting:
      row.state = "testing";
      row.style = Style::kBlue;
      break;
    case KernelStage::kHybrid:
      row.state = "in the model";
      row.style = Style::kBlue;
      break;
    case KernelStage::kDone:
      row.state = event.outcome;
      row.style = event.good ? Style::kGreen : Style::kRed;
      if (event.verdict) row.detail = detail_of(*event.verdict);
      break;
  }
}

// A kernel on several targets: the detail lists all of them, and the state is that of the first one
// that is wrong, else in progress, else waiting.
ProgressRow together(const std::vector<std::pair<std::string, ProgressRow>>& targets) {
  ProgressRow row = std::ranges::max_element(targets, {}, [](const auto& one) {
                      const ProgressRow& own = one.second;
                      return own.failed ? 3 : own.ended ? 0 : own.started ? 2 : 1;
                    })->second;
  row.detail.clear();
  for (const auto& [target, own] : targets) {
    row.started |= own.started;
    row.detail += (row.detail.empty() ? "" : ", ") + target + " " + own.state;
  }
  row.ended = std::ranges::all_of(targets, [](const auto& one) { return one.second.ended; });
  return row;
}

class KernelRows {
 public:
  explicit KernelRows(Progress& progress) : progress_(progress) {}

  void operator()(const topdown::KernelEvent& event) {
    if (!progress_.live()) return;
    auto found = std::ranges::find(rows_, event.kernel, &ProgressRow::name);
    const bool added = found == rows_.end();
    if (added) {
      rows_.push_back({.name = event.kernel});
      found = rows_.end() - 1;
    }
    if (event.target.empty()) {
      show(event, *found);
    } else {
      auto& targets = of_targets_[event.kernel];
      auto own =
          std::ranges::find(targets, event.target, [](const auto& one) { return one.first; });
      if (own == targets.end()) {
        targets.push_back({event.target, {.name = event.kernel}});
        own = targets.end() - 1;
      }
      show(event, own->second);
      *found = together(targets);
    }
    if (added) {
      progress_.set_rows(rows_);
    } else {
      progress_.set_row(static_cast<size_t>(found - rows_.begin()), *found);
    }
  }

 private:
  Progress& progress_;
  std::vector<ProgressRow> rows_;
  // With several targets, by kernel.
  std::map<std::string, std::vector<std::pair<std::string, ProgressRow>>> of_targets_;
};

}  // namespace

topdown::KernelWatcher kernel_rows(Progress& progress) { return KernelRows(progress); }

CommandHooks command_hooks(Progress& progress) {
  CommandHooks hooks;
  hooks.phase = [&progress](const std::string& name, int64_t total) {
    progress.begin(name, total);
  };
  hooks.phase_end = [&progress](const std::string& summary) { progress.end(summary); };
  hooks.progress = [&progress](const std::string& step, int64_t, int64_t) { progress.step(step); };
  hooks.watcher = progress.watcher();
  hooks.watch = kernel_rows(progress);
  hooks.cancelled = interrupted;
  hooks.interrupt = &interrupt_flag();
  hooks.poll = [] { unwrap(check_interrupted()); };
  return hooks;
}

}  // namespace tapml::cli
