// Shows the progress of a long command: a live line on a terminal, plain lines when piped.
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
  kPlain,  // one line at the end of each phase, and one every few seconds during it
  kLive,   // one line that is redrawn, rows above it, and the plain line at the end of each phase
};

struct ProgressOptions {
  ProgressMode mode = ProgressMode::kQuiet;
  int width = 80;                               // maximum columns of the live line
  std::function<void(std::string_view)> write;  // where the text goes
  std::function<double()> now;                  // seconds on a monotonic clock
  // tick() is called a few times a second from a thread, so that a long step is seen to be alive.
  // Changes in quick succession are then drawn by the ticker alone.
  bool ticker = true;
  double every = 10;    // plain: seconds between two lines of one phase
  double patience = 0;  // seconds; a shorter phase prints nothing
  int height = 24;      // lines of the terminal
  bool colors = false;  // for row states
  // If set, called for width and height before each drawing: a window may change its size.
  std::function<std::pair<int, int>()> size = {};
};

// Reports phases with counted steps, each of which may have counted work, too. The live line reads
// "[12/58] migrate: kernel name, reference 3 of 40 kernels ... 3.2 s, about 12 s left"; in plain
// mode a line every ten seconds shows the same. At the end of the phase the line "migrate: 58
// kernels done (3.2 s)" stays. Thread-safe.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // Writes to standard error: live on a capable terminal, plain otherwise, nothing when `quiet`.
  static Progress to_stderr(bool quiet = false, double patience = 0);
  // The patience, in seconds, for commands whose work is mostly short.
  static constexpr double kPatience = 2;
  // Writes a line to standard error, above the drawing of any Progress (for a log sink).
  static void line_to_stderr(std::string_view line);
  ~Progress();
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;

  // Starts a phase of `total` steps (0: unknown) and ends the one before. A phase that ends within
  // `patience` seconds, or those of the options, prints nothing.
  void begin(std::string_view phase, int64_t total = 0, double patience = 0);
  // Begins the next step of the phase, which works on `item`.
  void step(std::string_view item);
  // Updates the work of the step, or of a phase without steps.
  void work(const Work& work);
  // Returns work() as a function for the worker; empty if nothing is shown. Reports after this
  // object's destruction are ignored.
  WorkWatcher watcher();
  // Draws, or writes the line that is due; called by the ticker.
  void tick();
  // Ends the phase. `summary` is the outcome ("58 kernels, all equal").
  void end(std::string_view summary = "done");
  // Whether rows are shown.
  bool live() const;
  // Sets rows above the live line, over all phases: live only. Work that ends with an error leaves
  // the started ones on the screen; finish() removes them.
  void set_rows(std::vector<ProgressRow> rows);
  void set_row(size_t index, ProgressRow row);
  // Ends the phase and removes the rows.
  void finish(std::string_view summary = "done");
  // Prints a line that stays, above the live line (a warning, a verdict).
  void note(std::string_view line);

 private:
  struct State;
  struct OnStderr;
  std::shared_ptr<State> state_;
};

}  // namespace tapml
