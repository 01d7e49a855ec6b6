// The frame of the benchmarks: interleaved pairs, ratios with their 95% intervals, bars, a table
// and out/bench.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapml::bench {

// One figure of ours beside its yardstick, in the same unit. Both closures measure once and return
// the figure; they run in turn, so that a machine whose speed drifts bears on both alike.
struct Pair {
  std::function<double()> ours;
  std::function<double()> peer;
  bool ceiling =
      false;  // of the machine: read right before and right after ours, their mean counts
};

// Ours beside what the machine reaches (ceilings.h), whose speed may change between two readings.
Pair against_ceiling(std::function<double()> ours, std::function<double()> ceiling);

enum class Bound : uint8_t { kAtLeast, kAtMost };

// One row of the table. `prepare` does what is not measured (compile, load, warm up); it may throw
// a CompilerException, and a row whose peer is absent returns a Pair without `peer` and says why.
struct Case {
  std::string name;
  std::string unit;  // of the figures
  std::string peer;  // what stands beside ours
  Bound bound = Bound::kAtLeast;
  double bar = 1;       // of the ratio ours / peer, or of the figure where there is no peer
  bool figure = false;  // the bar is for the figure itself
  bool no_bar = false;  // the figure is for orientation
  std::function<Pair(std::string& absent)> prepare;
  int pairs = 15;  // fewer only of figures that stand alone or are counted, not timed
};

struct Interval {
  double low = 0, middle = 0, high = 0;
};
// Median of the samples and a 95% interval of it (order statistics of the binomial distribution).
Interval median_interval(std::vector<double> samples);

struct Options {
  std::string only;  // cases whose name holds it; empty: all
  std::string json = "out/bench.json";
};

// Runs the cases with progress on stderr, prints the table, writes the document. A bar is missed
// when the interval lies wholly on its wrong side. Returns the number of missed bars.
int run(const std::vector<Case>& cases, const Options& options);

double seconds_now();
// Seconds that `work` takes, the median of `repeats`.
double seconds_of(const std::function<void()>& work, int repeats = 1);

// A program that measures something on request: it prints "ready" once it is, then for every line
// it reads from stdin one number. Absent (ok() is false) where it cannot be started or says
// "absent: why".
class Peer {
 public:
  explicit Peer(const std::vector<std::string>& command);
  ~Peer();
  Peer(const Peer&) = delete;
  bool ok() const { return ready_; }
  const std::string& why() const { return why_; }
  // Throws a UserError where the program died.
  double measure();

 private:
  bool read_line(std::string& line);
  int to_ = -1, from_ = -1, pid_ = -1;
  bool ready_ = false;
  std::string why_, pending_;
};

}  // namespace tapml::bench
