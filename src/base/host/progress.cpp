#include "base/host/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "base/host/terminal.h"
#include "base/rounding.h"

namespace tapml {

namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
// Erases from the cursor to the end of the screen.
constexpr std::string_view kEraseBelow = "\x1b[J";
constexpr auto kTick = std::chrono::milliseconds(200);
// Minimum seconds between two drawings when a ticker makes up for those that are skipped.
constexpr double kQuickest = 0.1;
// No estimate is shown before this many seconds or below this share: it would be a guess.
constexpr double kFirstEstimate = 2, kLeastShare = 0.005;
// Columns that a line needs to include an estimate.
constexpr size_t kRoomForEstimate = 60;

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", seconds);
  return text;
}

// "about 3 min left"
std::string left_text(double seconds) {
  const auto rounded = [](double value) { return std::to_string(std::llround(value)); };
  if (seconds < 90) return "about " + rounded(std::max(seconds, 1.0)) + " s left";
  if (seconds < 90 * 60) return "about " + rounded(seconds / 60) + " min left";
  return "about " + rounded(seconds / 3600) + " h left";
}

// "34 of 272 kernels"
std::string count_text(int64_t done, int64_t total, std::string_view unit) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  if (unit == "bytes") return count_text(done / kMiB, ceil_div(total, kMiB), "MiB");
  std::string text = std::to_string(done);
  if (total > 0) text += " of " + std::to_string(total);
  if (!unit.empty()) text += " " + std::string(unit);
  return text;
}

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;  // the output is gone; the work goes on
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

// The Progress that now draws on standard error, or null.
struct Progress::OnStderr {
  std::mutex mutex;
  State* state = nullptr;

  static OnStderr& get() {
    static OnStderr shown;
    return shown;
  }
};

struct Progress::State {
  ProgressOptions options;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread ticker;

  bool running = false;  // inside a phase
  // Widths of the lines on the screen, the live one last; the cursor is at its end.
  std::vector<size_t> drawn;
  std::vector<ProgressRow> rows;
  std::string phase, item;
  int64_t total = 0, done = 0;
  double began = 0;
  double patience = 0;  // of the current phase
  double shown = 0;     // when something of the phase was last drawn or written
  // The work of the current step; none if `what` is empty.
  struct {
    std::string what, unit;
    int64_t done = 0, total = 0;
    double began = 0;
  } part;

  void measure() {
    if (!options.size) return;
    std::tie(options.width, options.height) = options.size();
  }

  // Moves to the first column of the first drawn line. A narrower window has wrapped the lines.
  std::string to_top() const {
    const auto columns = static_cast<size_t>(std::max(options.width, 1));
    size_t up = 0;
    for (size_t i = 0; i < drawn.size(); ++i) {
      up += std::max<size_t>(1, ceil_div(drawn[i], columns));
    }
    return up <= 1 ? "\r" : "\r\x1b[" + std::to_string(up - 1) + "A";
  }

  void erase() {
    if (drawn.size() == 1) options.write(kEraseLine);
    if (drawn.size() > 1) options.write(to_top() + std::string(kEraseBelow));
    drawn.clear();
  }

  std::vector<ProgressLine> lines_of_rows() const {
    // One line for the live line, one for whatever is written after it.
    const auto most = static_cast<size_t>(std::max(options.height - 2, 0));
    return row_lines(rows, static_cast<size_t>(std::max(options.width, 1)), most, options.colors);
  }

  void end_part() { part = {}; }

  // ", reference 34 of 272 kernels"
  std::string part_text() const {
    if (part.what.empty()) return "";
    return ", " + part.what + " " + count_text(part.done, part.total, part.unit);
  }

  // ", about 3 min left", or empty when there is no estimate. Assumes that all steps and kernels
  // take equally long.
  std::string estimate(double now) const {
    const double own =
        part.total > 0 ? static_cast<double>(part.done) / static_cast<double>(part.total) : 0;
    const double share = total > 0 ? (static_cast<double>(std::max<int64_t>(done - 1, 0)) + own) /
                                         static_cast<double>(total)
                                   : own;
    const double elapsed = now - (total > 0 ? began : part.began);
    if (elapsed < kFirstEstimate || share < kLeastShare || share >= 1) return "";
    return ", " + left_text(elapsed / share - elapsed);
  }

  // Only records the change: the ticker shows it.
  void take(const Work& work) {
    std::lock_guard lock(mutex);
    const bool counted = work.total > 0 || work.done == 0;
    if (!running || (counted && work.done >= work.total)) return end_part();
    if (part.what != work.what || work.done < part.done) {
      part.what = work.what;
      part.unit = work.unit;
      part.began = options.now();
    }
    part.done = work.done;
    part.total = work.total;
  }

  // The line that replaces the live one in a pipe.
  void write_line(double now) {
    std::string line = phase + ": ";
    if (total > 0 || done > 0) line += count_text(done, total, "") + ", ";
    if (!item.empty()) line += item + ", ";
    if (!part.what.empty()) line += part_text().substr(2) + ", ";
    options.write(line + seconds_text(now - began) + estimate(now) + "\n");
    shown = now;
  }

  void tick() {
    if (!running) return;
    if (options.mode == ProgressMode::kLive) draw();
    if (options.mode != ProgressMode::kPlain) return;
    const double now = options.now();
    if (now - shown >= options.every) write_line(now);
  }

  // Called after a change that the ticker would show soon.
  void change() {
    if (options.mode == ProgressMode::kPlain) tick();
    if (options.mode != ProgressMode::kLive) return;
    if (options.ticker && !drawn.empty() && options.now() - shown < kQuickest) return;
    draw();
  }

  void draw() {
    if (options.mode != ProgressMode::kLive || !running) return;
    const double now = options.now();
    if (now - began < patience) return;
    shown = now;
    measure();
    std::string head;
    if (total > 0) {
      head = "[" + std::to_string(done) + "/" + std::to_string(total) + "] ";
    } else if (done > 0) {
      head = "[" + std::to_string(done) + "] ";
    }
    head += phase;
    if (!item.empty()) head += ": " + item;
    head += part_text();
    std::string tail = " ... " + seconds_text(now - began);
    // One column stays free: a full line wraps on some terminals.
    size_t room = static_cast<size_t>(options.width > 1 ? options.width - 1 : 1);
    if (room >= kRoomForEstimate) tail += estimate(now);
    size_t tail_width = display_width(tail);
    size_t head_room = room > tail_width ? room - tail_width : 0;
    const std::string live = std::string(cut_to(head, head_room)) + std::string(cut_to(tail, room));
    // One write for everything: partial drawings flicker.
    std::string text;
    if (drawn.size() > 1) text = to_top();
    std::vector<size_t> widths;
    for (const ProgressLine& line : lines_of_rows()) {
      text += std::string(kEraseLine) + line.text + "\n";
      widths.push_back(line.width);
    }
    text += std::string(kEraseLine) + live;
    widths.push_back(display_width(live));
    // Clears the lines left over from a longer drawing.
    if (widths.size() < drawn.size()) text += kEraseBelow;
    options.write(text);
    drawn = std::move(widths);
  }

  // The text of the rows, to stay on the screen.
  void leave_rows() {
    std::erase_if(rows, [](const ProgressRow& row) { return !row.started; });
    std::string text;
    for (const ProgressLine& line : row_lines(rows, static_cast<size_t>(std::max(options.width, 1)),
                                              rows.size(), options.colors)) {
      text += line.text + "\n";
    }
    if (!text.empty()) options.write(text);
    rows.clear();
  }

  void end_phase(std::string_view summary) {
    if (!running) return;
    erase();
    running = false;
    end_part();
    if (options.mode == ProgressMode::kQuiet) return;
    const double seconds = options.now() - began;
    if (seconds < patience) return;
    std::string line = phase + ": " + std::string(summary) + " (" + seconds_text(seconds) + ")\n";
    options.write(line);
  }

  void note(std::string_view line) {
    erase();
    options.write(std::string(line) + "\n");
    draw();
  }

  void keep_ticking() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kTick, [this] { return stop; })) tick();
  }
};

Progress::Progress(ProgressOptions options) : state_(std::make_shared<State>()) {
  state_->options = std::move(options);
  if (!state_->options.write) state_->options.mode = ProgressMode::kQuiet;
  if (!state_->options.now) {
    state_->options.now = [] {
      auto since = std::chrono::steady_clock::now().time_since_epoch();
      return std::chrono::duration<double>(since).count();
    };
  }
  if (state_->options.mode != ProgressMode::kQuiet && state_->options.ticker) {
    state_->ticker = std::thread([state = state_.get()] { state->keep_ticking(); });
  }
}

Progress Progress::to_stderr(bool quiet, double patience) {
  ProgressOptions options;
  options.patience = patience;
  options.mode = quiet                                  ? ProgressMode::kQuiet
                 : terminal_moves_cursor(STDERR_FILENO) ? ProgressMode::kLive
                                                        : ProgressMode::kPlain;
  options.size = [] {
    return std::pair(terminal_width(STDERR_FILENO), terminal_height(STDERR_FILENO));
  };
  options.colors = terminal_has_colors(STDERR_FILENO);
  options.write = write_to_stderr;
  Progress progress(std::move(options));
  if (progress.live()) {
    std::lock_guard lock(OnStderr::get().mutex);
    OnStderr::get().state = progress.state_.get();
  }
  return progress;
}

void Progress::line_to_stderr(std::string_view line) {
  std::lock_guard lock(OnStderr::get().mutex);
  if (State* state = OnStderr::get().state) {
    std::lock_guard drawing(state->mutex);
    state->note(line);
    return;
  }
  write_to_stderr(std::string(line) + "\n");
}

Progress::~Progress() {
  if (!state_) return;
  {
    std::lock_guard lock(OnStderr::get().mutex);
    if (OnStderr::get().state == state_.get()) OnStderr::get().state = nullptr;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    // An unfinished phase (error unwinding) must not leave a partial line.
    state_->erase();
    state_->running = false;
    state_->leave_rows();
  }
  state_->wake.notify_all();
  if (state_->ticker.joinable()) state_->ticker.join();
}

Progress::Progress(Progress&&) noexcept = default;
Progress& Progress::operator=(Progress&& other) noexcept {
  Progress moved(std::move(other));
  std::swap(state_, moved.state_);
  return *this;
}

void Progress::begin(std::string_view phase, int64_t total, double patience) {
  std::lock_guard lock(state_->mutex);
  state_->end_phase("done");
  state_->phase = phase;
  state_->item.clear();
  state_->total = total;
  state_->patience = std::max(patience, state_->options.patience);
  state_->done = 0;
  state_->began = state_->shown = state_->options.now();
  state_->running = true;
  state_->draw();
}

void Progress::step(std::string_view item) {
  std::lock_guard lock(state_->mutex);
  state_->item = item;
  ++state_->done;
  state_->end_part();
  state_->change();
}

void Progress::work(const Work& work) { state_->take(work); }

WorkWatcher Progress::watcher() {
  if (state_->options.mode == ProgressMode::kQuiet) return {};
  return [seen = std::weak_ptr(state_)](const Work& work) {
    if (const auto state = seen.lock()) state->take(work);
  };
}

void Progress::tick() {
  std::lock_guard lock(state_->mutex);
  state_->tick();
}

void Progress::end(std::string_view summary) {
  std::lock_guard lock(state_->mutex);
  state_->end_phase(summary);
}

bool Progress::live() const { return state_->options.mode == ProgressMode::kLive; }

void Progress::set_rows(std::vector<ProgressRow> rows) {
  if (!live()) return;
  std::lock_guard lock(state_->mutex);
  state_->rows = std::move(rows);
  state_->change();
}

void Progress::set_row(size_t index, ProgressRow row) {
  if (!live()) return;
  std::lock_guard lock(state_->mutex);
  if (index >= state_->rows.size()) return;
  state_->rows[index] = std::move(row);
  state_->draw();  // every state is shown, however short
}

void Progress::finish(std::string_view summary) {
  std::lock_guard lock(state_->mutex);
  state_->end_phase(summary);
  state_->rows.clear();
}

void Progress::note(std::string_view line) {
  std::lock_guard lock(state_->mutex);
  if (state_->options.mode == ProgressMode::kQuiet) return;
  state_->note(line);
}

}  // namespace tapml
