// Whether proposing and checking tokens makes a text faster than plain decoding, by measured steps.
#pragma once

#include <cstdint>
#include <vector>

namespace tapml::llm {

class Pace {
 public:
  // Plain steps at the beginning of a text, which are measured. The first one is slower where it
  // makes the device ready, and does not count.
  static constexpr int64_t kPlainSteps = 5;
  // Steps that check proposed tokens which a judgment looks back to; those before it, kWarmUp at
  // the beginning, do not count.
  static constexpr int64_t kWindow = 16, kWarmUp = 2;

  // A plain step took so long.
  void plain(double seconds);
  // Proposing, and checking what was proposed, took so long and gave so many tokens.
  void verified(double seconds, int64_t tokens);

  bool knows_plain() const { return plain_steps_ >= kPlainSteps; }
  // Tokens a second, by the median of the times of steps, which other programs on the machine
  // affect less than their sum; 0: not known yet.
  double plain_speed() const;
  double verified_speed() const;
  // Whether plain decoding is known to be faster.
  bool is_slower() const { return verified_speed() > 0 && verified_speed() < plain_speed(); }

 private:
  struct Step {
    double seconds;
    int64_t tokens;
  };
  int64_t plain_steps_ = 0, verified_steps_ = 0;
  std::vector<double> plain_;   // the last kWindow
  std::vector<Step> verified_;  // the last kWindow
};

}  // namespace tapml::llm
