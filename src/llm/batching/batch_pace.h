// Whether proposing tokens makes a batch faster, by measured steps. A call with more texts gains
// less by it, so each number of texts has its own measurement.
#pragma once

#include <cstdint>
#include <map>

#include "llm/speculation/pace.h"

namespace tapml::llm {

class BatchPace {
 public:
  // Steps without proposals after it measured slower; then it measures again.
  static constexpr int64_t kRest = 1000;

  // `keep`: neither measures plain steps nor stops.
  explicit BatchPace(bool keep) : keep_(keep) {}

  // Whether the next step of so many texts proposes.
  bool proposes(int64_t texts) const;
  // A step without proposals took so long.
  void plain(int64_t texts, double seconds);
  // Proposing, and the step that checked it, took so long and gave so many tokens in all.
  void verified(int64_t texts, double seconds, int64_t tokens);
  int64_t stops() const { return stops_; }  // how often it measured slower

 private:
  struct Measured {
    Pace pace;
    int64_t rest = 0;  // steps without proposals to come
  };
  bool keep_;
  int64_t stops_ = 0;
  std::map<int64_t, Measured> by_texts_;
};

}  // namespace tapml::llm
