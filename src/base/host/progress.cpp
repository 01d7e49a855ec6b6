#include "base/host/progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/host/terminal.h"
#include "base/strings.h"

namespace tapml {

namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr auto kTick = std::chrono::milliseconds(200);

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", seconds);
  return text;
}

// The first `columns` code points.
std::string_view cut(std::string_view text, size_t columns) {
  size_t end = 0;
  for (size_t used = 0; end < text.size() && used < columns; ++used) {
    size_t length = utf8_sequence_length(text, end);
    end += length == 0 ? 1 : length;
  }
  return text.substr(0, end);
}

}  // namespace

struct Progress::State {
  ProgressOptions options;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread ticker;

  bool running = false;  // inside a phase
  bool drawn = false;    // the live line is on the screen
  std::string phase, item;
  int64_t total = 0, done = 0;
  double began = 0;

  void erase() {
    if (drawn) options.write(kEraseLine);
    drawn = false;
  }

  void draw() {
    if (options.mode != ProgressMode::kLive || !running) return;
    std::string head;
    if (total > 0) {
      head = "[" + std::to_string(done) + "/" + std::to_string(total) + "] ";
    } else if (done > 0) {
      head = "[" + std::to_string(done) + "] ";
    }
    head += phase;
    if (!item.empty()) head += ": " + item;
    std::string tail = " ... " + seconds_text(options.now() - began);
    // One column stays free: a full line makes some terminals wrap.
    size_t room = static_cast<size_t>(options.width > 1 ? options.width - 1 : 1);
    size_t tail_width = display_width(tail);
    size_t head_room = room > tail_width ? room - tail_width : 0;
    std::string line(kEraseLine);
    line += cut(head, head_room);
    line += cut(tail, room);
    options.write(line);
    drawn = true;
  }

  void end_phase(std::string_view summary) {
    if (!running) return;
    erase();
    running = false;
    if (options.mode == ProgressMode::kQuiet) return;
    std::string line =
        phase + ": " + std::string(summary) + " (" + seconds_text(options.now() - began) + ")\n";
    options.write(line);
  }

  void tick() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kTick, [this] { return stop; })) draw();
  }
};

Progress::Progress(ProgressOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  if (!state_->options.write) state_->options.mode = ProgressMode::kQuiet;
  if (!state_->options.now) {
    state_->options.now = [] {
      auto since = std::chrono::steady_clock::now().time_since_epoch();
      return std::chrono::duration<double>(since).count();
    };
  }
  if (state_->options.mode == ProgressMode::kLive && state_->options.ticker) {
    state_->ticker = std::thread([state = state_.get()] { state->tick(); });
  }
}

Progress Progress::to_stderr(bool quiet) {
  ProgressOptions options;
  options.mode = quiet                        ? ProgressMode::kQuiet
                 : is_terminal(STDERR_FILENO) ? ProgressMode::kLive
                                              : ProgressMode::kPlain;
  options.width = terminal_width(STDERR_FILENO);
  options.write = [](std::string_view text) {
    while (!text.empty()) {
      ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
      if (written <= 0) return;  // nobody listens; the work goes on
      text.remove_prefix(static_cast<size_t>(written));
    }
  };
  return Progress(std::move(options));
}

Progress::~Progress() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    // An unfinished phase (an error unwinds) leaves no half line behind.
    state_->erase();
    state_->running = false;
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

void Progress::begin(std::string_view phase, int64_t total) {
  std::lock_guard lock(state_->mutex);
  state_->end_phase("done");
  state_->phase = phase;
  state_->item.clear();
  state_->total = total;
  state_->done = 0;
  state_->began = state_->options.now();
  state_->running = true;
  state_->draw();
}

void Progress::step(std::string_view item) {
  std::lock_guard lock(state_->mutex);
  state_->item = item;
  ++state_->done;
  state_->draw();
}

void Progress::end(std::string_view summary) {
  std::lock_guard lock(state_->mutex);
  state_->end_phase(summary);
}

void Progress::note(std::string_view line) {
  std::lock_guard lock(state_->mutex);
  if (state_->options.mode == ProgressMode::kQuiet) return;
  state_->erase();
  state_->options.write(std::string(line) + "\n");
  state_->draw();
}

}  // namespace tapml
