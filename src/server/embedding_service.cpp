#include "server/embedding_service.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace tapml::server {

namespace {

// Requests are served together up to this many texts, so that the encoder sorts them by length.
constexpr size_t kTextsTogether = 256;

// Rows [first, first + count) of vectors f32[texts, d].
HostTensor rows_of(const HostTensor& vectors, size_t first, size_t count) {
  const auto width = static_cast<size_t>(vectors.shape()[1]);
  return HostTensor::from<float>(DType::kF32,
                                 {static_cast<int64_t>(count), static_cast<int64_t>(width)},
                                 vectors.values<float>().subspan(first * width, count * width));
}

}  // namespace

struct EmbeddingService::State {
  State(llm::Embedder& uses, int64_t waiting) : embedder(uses), most_waiting(waiting) {
    thread = std::thread([this] { run(); });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      if (std::exchange(stopping, true)) return;
    }
    changed.notify_one();
    thread.join();
  }

  // The requests that are served next; none: the service ends.
  std::vector<EmbeddingRequest> take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || !requests.empty(); });
    std::vector<EmbeddingRequest> taken;
    size_t texts = 0;
    while (!stopping && !requests.empty()) {
      texts += requests.front().texts.size();
      if (!taken.empty() && texts > kTextsTogether) break;
      taken.push_back(std::move(requests.front()));
      requests.pop_front();
    }
    return taken;
  }

  // Takes out the requests that nobody waits for.
  static void drop_unwanted(std::vector<EmbeddingRequest>& taken) {
    std::erase_if(taken, [](const EmbeddingRequest& request) {
      return request.is_wanted && !request.is_wanted();
    });
  }

  void run() {
    for (;;) {
      std::vector<EmbeddingRequest> taken = take();
      if (taken.empty()) break;
      drop_unwanted(taken);
      if (taken.empty()) continue;
      std::vector<std::vector<int32_t>> texts;
      for (const EmbeddingRequest& request : taken) {
        texts.insert(texts.end(), request.texts.begin(), request.texts.end());
      }
      const Result<HostTensor> vectors = embedder.embed(texts);
      {
        const std::lock_guard lock(mutex);
        (vectors ? counts.ended : counts.failed) += std::ssize(taken);
        for (const auto& text : texts) counts.tokens += std::ssize(text);
        healthy &= vectors || vectors.error().kind == ErrorKind::kUser ||
                   vectors.error().fault == PlatformFault::kOutOfMemory;
      }
      size_t first = 0;
      for (const EmbeddingRequest& request : taken) {
        const size_t count = request.texts.size();
        request.on_end(vectors ? Result<HostTensor>(rows_of(*vectors, first, count))
                               : Result<HostTensor>(fail(vectors.error())));
        first += count;
      }
    }
    const Error error = platform_error(PlatformFault::kCancelled, "the server is shutting down");
    for (const EmbeddingRequest& request : requests) request.on_end(fail(error));
    requests.clear();
  }

  llm::Embedder& embedder;
  const int64_t most_waiting;
  mutable std::mutex mutex;  // for what follows
  std::condition_variable changed;
  std::deque<EmbeddingRequest> requests;
  EmbeddingCounts counts;
  bool stopping = false, healthy = true;
  std::thread thread;  // last: uses all others
};

EmbeddingService::EmbeddingService(llm::Embedder& embedder, int64_t waiting)
    : model_(embedder.model()), state_(std::make_unique<State>(embedder, waiting)) {}

EmbeddingService::~EmbeddingService() { stop(); }

bool EmbeddingService::submit(EmbeddingRequest request) {
  if (Status valid = llm::check_texts(model_, request.texts); !valid) {
    request.on_end(fail(std::move(valid).error()));
    return true;
  }
  const std::lock_guard lock(state_->mutex);
  const bool is_full = std::ssize(state_->requests) >= state_->most_waiting;
  if (state_->stopping || !state_->healthy || is_full) return false;
  state_->requests.push_back(std::move(request));
  state_->changed.notify_one();
  return true;
}

void EmbeddingService::stop() { state_->stop(); }

bool EmbeddingService::is_healthy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->healthy;
}

EmbeddingCounts EmbeddingService::counts() const {
  const std::lock_guard lock(state_->mutex);
  EmbeddingCounts counts = state_->counts;
  counts.waiting = std::ssize(state_->requests);
  return counts;
}

}  // namespace tapml::server
