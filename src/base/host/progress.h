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

namespace tapml {

enum class ProgressMode {
  kQuiet,  // nothing
  kPlain,  // one line at the end of each phase
  kLive,   // one line that is redrawn, rows above it, and the plain line at the end of each phase
};

struct ProgressOptions {
  ProgressMode mode = ProgressMode::kQuiet;
  int width = 80;                               // columns that the live line may take
  std::function<void(std::string_view)> write;  // where the text goes
  std::function<double()> now;                  // seconds on a monotonic clock
  bool ticker = true;   // redraw a few times a second, so that a long step is seen to be alive
  int height = 24;      // lines of the terminal
  bool colors = false;  // for the states of rows
  // Asked for width and height before each drawing, where given: a window may change its size.
  std::function<std::pair<int, int>()> size = {};
};

// Phases with counted steps. Live, the line reads "[12/58] migrate: kernel name ... 3.2 s"; at the
// end of the phase a line "migrate: 58 kernels done (3.2 s)" stays. Safe to call from any thread.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // To standard error: live on a terminal that can, plain otherwise, nothing when `quiet`.
  static Progress to_stderr(bool quiet = false);
  // A line on standard error, above what a Progress draws there (for a log's sink).
  static void line_to_stderr(std::string_view line);
  ~Progress();
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;

  // Starts a phase of `total` steps (0: not known), ending the one before.
  void begin(std::string_view phase, int64_t total = 0);
  // The next step of the phase begins; `item` says what it works on.
  void step(std::string_view item);
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
  std::unique_ptr<State> state_;
};

}  // namespace tapml
