#include "llm/speculation/pace.h"

#include <algorithm>

namespace tapml::llm {

namespace {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void Pace::plain(double seconds) {
  if (plain_steps_++ == 0) return;
  if (std::ssize(plain_) == kWindow) plain_.erase(plain_.begin());
  plain_.push_back(seconds);
}

void Pace::verified(double seconds, int64_t tokens) {
  if (verified_steps_++ < kWarmUp) return;
  if (std::ssize(verified_) == kWindow) verified_.erase(verified_.begin());
  verified_.push_back({seconds, tokens});
}

double Pace::plain_speed() const {
  if (!knows_plain()) return 0;
  const double seconds = median_of(plain_);
  return seconds > 0 ? 1 / seconds : 0;
}

double Pace::verified_speed() const {
  if (std::ssize(verified_) < kWindow) return 0;
  std::vector<double> seconds;
  int64_t tokens = 0;
  for (const Step& step : verified_) {
    seconds.push_back(step.seconds);
    tokens += step.tokens;
  }
  const double step = median_of(std::move(seconds));
  return step > 0 ? static_cast<double>(tokens) / kWindow / step : 0;
}

}  // namespace tapml::llm
