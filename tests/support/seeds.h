// Seeds of random programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>

namespace tapml::testing {

// TAPML_GRAPHS=n fixed seeds, then fresh ones for TAPML_GRAPH_SECONDS (2), of which the first is
// printed. TAPML_SEED=s selects only that seed.
class Seeds {
 public:
  explicit Seeds(uint64_t fixed) : fixed_(number_from("TAPML_GRAPHS").value_or(fixed)) {}

  std::optional<uint64_t> next() {
    if (auto only = number_from("TAPML_SEED"))
      return std::exchange(done_, true) ? std::nullopt : only;
    if (count_ < fixed_) return count_++;
    if (!fresh_) {
      fresh_ = std::random_device()();
      end_ = Clock::now() + std::chrono::seconds(number_from("TAPML_GRAPH_SECONDS").value_or(2));
      std::printf("fresh seeds from %llu\n", static_cast<unsigned long long>(fresh_));
    }
    return Clock::now() < end_ ? std::optional(fresh_++) : std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::optional<uint64_t> number_from(const char* variable) {
    const char* text = std::getenv(variable);
    return text ? std::optional<uint64_t>(std::strtoull(text, nullptr, 10)) : std::nullopt;
  }

  uint64_t fixed_ = 0, count_ = 0, fresh_ = 0;
  Clock::time_point end_;
  bool done_ = false;
};

}  // namespace tapml::testing
