// What a server has done, for /metrics in the text format of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "llm/batching/continuous_batch.h"
#include "server/embedding_service.h"

namespace tapml::server {

// Counts durations in seconds. Thread-safe.
class DurationHistogram {
 public:
  static constexpr std::array<double, 12> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                     0.1,   0.25,   0.5,   1,    2.5,   10};
  void add(double seconds);
  std::string text(const std::string& name, const std::string& help) const;

 private:
  mutable std::mutex mutex_;
  std::array<int64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

struct Metrics {
  DurationHistogram first_token;     // from a request to its first token
  DurationHistogram between_tokens;  // of a text
  DurationHistogram steps;           // of the engine
};

// Of a server of vectors.
std::string embedding_metrics_text(const EmbeddingCounts& counts, int64_t connections);
std::string metrics_text(const Metrics& metrics, const llm::ContinuousBatch::Counts& counts,
                         int64_t connections);

}  // namespace tapml::server
