// Makes vectors of texts for many callers: one thread owns the encoder, and callers submit requests
// from any other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "llm/embedder.h"

namespace tapml::server {

struct EmbeddingRequest {
  std::vector<std::vector<int32_t>> texts;  // of llm::check_texts(), which the service calls
  // False before the texts are read: nobody waits any more, and on_end is not called.
  std::function<bool()> is_wanted;
  // The vectors f32[texts, d]. Called once, on the service's thread; must be quick. UserError for
  // texts that cannot be read, kCancelled if the service ends, other errors for a failure of the
  // device.
  std::function<void(const Result<HostTensor>& vectors)> on_end;
};

struct EmbeddingCounts {
  int64_t waiting = 0, ended = 0, failed = 0;  // requests
  int64_t tokens = 0;                          // that were read
};

// All methods are thread-safe.
class EmbeddingService {
 public:
  // The embedder outlives the service, and is used by nothing else. `waiting`: most requests that
  // wait; more are refused.
  EmbeddingService(llm::Embedder& embedder, int64_t waiting);
  // As stop().
  ~EmbeddingService();
  EmbeddingService(const EmbeddingService&) = delete;

  // False: too many requests wait, or the device is lost.
  bool submit(EmbeddingRequest request);
  // Ends the requests that wait with an error (kCancelled), and takes no more.
  void stop();
  // Whether the device works.
  bool is_healthy() const;
  EmbeddingCounts counts() const;
  const ModelInterface& model() const { return model_; }

 private:
  struct State;
  const ModelInterface& model_;
  const std::unique_ptr<State> state_;
};

}  // namespace tapml::server
