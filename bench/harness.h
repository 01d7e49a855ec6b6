// The benchmark framework: interleaved pairs, ratios with their 95% intervals, bars, a table and
// out/bench.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapml::bench {

// A figure of ours and its yardstick, in the same unit. Both closures measure once and return the
// figure; they alternate, so that drift in the machine's speed affects both equally.
struct Pair {
  std::function<double()> ours;
  std::function<double()> peer;
  bool ceiling =
      false;  // peak rate of the machine: measured right before and after ours, then averaged
};

// Ours against the machine's peak (ceilings.h), which may change between two measurements.
Pair against_ceiling(std::function<double()> ours, std::function<double()> ceiling);

enum class Bound : uint8_t { kAtLeast, kAtMost };

// One row of the table. `prepare` does what is not measured (compile, load, warm up). It may throw
// a CompilerException; if the peer is not available, it returns a Pair without `peer` and the
// reason.
struct Case {
  std::string name;
  std::string unit;  // of the figures
  std::string peer;  // what ours is compared with
  Bound bound = Bound::kAtLeast;
  double bar = 1;       // limit of the ratio ours / peer, or of the figure if there is no peer
  bool figure = false;  // the bar applies to the figure itself
  bool no_bar = false;  // the figure is informational
  std::function<Pair(std::string& absent)> prepare;
  int pairs = 15;  // fewer only for figures without a peer or that are counted, not timed
};

struct Interval {
  double low = 0, middle = 0, high = 0;
};
// Median of the samples and its 95% interval (order statistics of the binomial distribution).
Interval median_interval(std::vector<double> samples);

struct Options {
  std::string only;  // runs only cases whose name contains it; empty: all
  std::string json = "out/bench.json";
};

// Runs the cases with progress on stderr, prints the table, writes the document. A bar is missed if
// the interval is entirely on its wrong side. Returns the number of missed bars.
int run(const std::vector<Case>& cases, const Options& options);

double seconds_now();
// Median time of `work` in seconds, over `repeats`.
double seconds_of(const std::function<void()>& work, int repeats = 1);

// A program that measures on request: it prints "ready" when it is, then a number for every line
// that it reads from stdin. Absent (ok() is false) if it cannot be started or prints "absent:
// REASON".
// "absent: why".
class Peer {
 public:
  explicit Peer(const std::vector<std::string>& command);
  ~Peer();
  Peer(const Peer&) = delete;
  bool ok() const { return ready_; }
  const std::string& why() const { return why_; }
  // Throws a UserError if the program exited.
  double measure();

 private:
  bool read_line(std::string& line);
  int to_ = -1, from_ = -1, pid_ = -1;
  bool ready_ = false;
  std::string why_, pending_;
};

}  // namespace tapml::bench
