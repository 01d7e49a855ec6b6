// How long the steps of a long task took.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tapml::topdown {

struct TimelineSpan {
  std::string lane;  // the kind of step: "replay", "hybrid", ...
  std::string name;
  double start = 0, seconds = 0;  // since the start of the task
};

// Consecutive steps.
class Timeline {
 public:
  // Ends the step before it.
  void begin(std::string lane, std::string name) {
    end();
    open_ = true;
    spans_.push_back({.lane = std::move(lane), .name = std::move(name), .start = now()});
  }
  void end() {
    if (open_) spans_.back().seconds = now() - spans_.back().start;
    open_ = false;
  }
  const std::vector<TimelineSpan>& spans() const { return spans_; }
  std::vector<TimelineSpan> take() {
    end();
    return std::move(spans_);
  }
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<TimelineSpan> spans_;
  bool open_ = false;
};

}  // namespace tapml::topdown
