// Shows how far a long command is: a live line on a terminal, plain lines when piped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tapml {

enum class ProgressMode {
  kQuiet,  // nothing
  kPlain,  // one line at the end of each phase
  kLive,   // one line that is redrawn, and the plain line at the end of each phase
};

struct ProgressOptions {
  ProgressMode mode = ProgressMode::kQuiet;
  int width = 80;                               // columns that the live line may take
  std::function<void(std::string_view)> write;  // where the text goes
  std::function<double()> now;                  // seconds on a monotonic clock
  bool ticker = true;  // redraw a few times a second, so that a long step is seen to be alive
};

// Phases with counted steps. Live, the line reads "[12/58] migrate: kernel name ... 3.2 s"; at the
// end of the phase a line "migrate: 58 kernels done (3.2 s)" stays. Safe to call from any thread.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // To standard error: live on a terminal, plain otherwise, nothing when `quiet`.
  static Progress to_stderr(bool quiet = false);
  ~Progress();
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;

  // Starts a phase of `total` steps (0: not known), ending the one before.
  void begin(std::string_view phase, int64_t total = 0);
  // The next step of the phase begins; `item` says what it works on.
  void step(std::string_view item);
  // Ends the phase. `summary` says what came of it ("58 kernels, all equal").
  void end(std::string_view summary = "done");
  // A line of its own that stays, above the live line (a warning, a verdict).
  void note(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml
