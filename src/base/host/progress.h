// Shows how far a long command is: a live line on a terminal, plain lines when piped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host/progress_rows.h"
#include "base/work.h"

namespace tapml {

enum class ProgressMode {
  kQuiet,  // nothing
  kPlain,  // one line at the end of each phase, and one every few seconds while it lasts
  kLive,   // one line that is redrawn, rows above it, and the plain line at the end of each phase
};

struct ProgressOptions {
  ProgressMode mode = ProgressMode::kQuiet;
  int width = 80;                               // columns that the live line may take
  std::function<void(std::string_view)> write;  // where the text goes
  std::function<double()> now;                  // seconds on a monotonic clock
  // Call tick() a few times a second from a thread, so that a long step is seen to be alive. Then
  // what comes in quick succession is drawn by that alone.
  bool ticker = true;
  double every = 10;    // plain: seconds between two lines of one phase
  double patience = 0;  // seconds; a phase that ends sooner leaves nothing
  int height = 24;      // lines of the terminal
  bool colors = false;  // for the states of rows
  // Asked for width and height before each drawing, where given: a window may change its size.
  std::function<std::pair<int, int>()> size = {};
};

// Phases with counted steps, each of which may have work that is counted, too. Live, the line reads
// "[12/58] migrate: kernel name, reference 3 of 40 kernels ... 3.2 s, about 12 s left"; plain, a
// line every ten seconds says the same. At the end of the phase a line "migrate: 58 kernels done
// (3.2 s)" stays. Safe to call from any thread.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // To standard error: live on a terminal that can, plain otherwise, nothing when `quiet`.
  static Progress to_stderr(bool quiet = false, double patience = 0);
  // Of a command whose work is mostly short: seconds.
  static constexpr double kPatience = 2;
  // A line on standard error, above what a Progress draws there (for a log's sink).
  static void line_to_stderr(std::string_view line);
  ~Progress();
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;

  // Starts a phase of `total` steps (0: not known), ending the one before. One that ends within
  // `patience` seconds, or those of the options, leaves nothing.
  void begin(std::string_view phase, int64_t total = 0, double patience = 0);
  // The next step of the phase begins; `item` says what it works on.
  void step(std::string_view item);
  // How far the work of the step, or of a phase without steps, is.
  void work(const Work& work);
  // That as a function, for who does the work; empty where nothing is shown. What is reported once
  // this is gone is lost.
  WorkWatcher watcher();
  // Draws, or writes the line that is due: what the ticker does.
  void tick();
  // Ends the phase. `summary` says what came of it ("58 kernels, all equal").
  void end(std::string_view summary = "done");
  // Whether rows are shown.
  bool live() const;
  // Rows above the live line, over all phases: live only. Work that ends with an error leaves those
  // that started on the screen; finish() takes them away.
  void set_rows(std::vector<ProgressRow> rows);
  void set_row(size_t index, ProgressRow row);
  // Ends the phase and takes the rows away.
  void finish(std::string_view summary = "done");
  // A line of its own that stays, above the live line (a warning, a verdict).
  void note(std::string_view line);

 private:
  struct State;
  struct OnStderr;
  std::shared_ptr<State> state_;
};

}  // namespace tapml
