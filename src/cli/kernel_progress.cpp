#include "cli/kernel_progress.h"

#include <algorithm>

#include "base/host/interrupt.h"
#include "ir/exceptions.h"
#include "topdown/replay/replay.h"
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
      if (total != 0) progress.end(std::to_string(total) + " kernels");
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
  return size + ", " + std::to_string(verdict.calls) +
         (verdict.calls == 1 ? " call, " : " calls, ") + topdown::seconds(verdict.seconds);
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
    show(event, *found);
    if (added) {
      progress_.set_rows(rows_);
    } else {
      progress_.set_row(static_cast<size_t>(found - rows_.begin()), *found);
    }
  }

 private:
  static void show(const topdown::KernelEvent& event, ProgressRow& row) {
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

  Progress& progress_;
  std::vector<ProgressRow> rows_;
};

}  // namespace

topdown::KernelWatcher kernel_rows(Progress& progress) { return KernelRows(progress); }

}  // namespace tapml::cli
