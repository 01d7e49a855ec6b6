#include "runtime/trace.h"

#include <utility>

namespace tapml::runtime {

void TraceLog::add(TraceEvent::Kind kind, std::string_view name, int64_t start,
                   int64_t bytes) noexcept {
  const int64_t end = trace_now();
  LockGuard guard(lock_);
  if (events_.size() >= kMostEvents) {
    ++dropped_;
    return;
  }
  events_.push_back({kind, false, std::string(name), start, end - start, bytes});
}

std::vector<TraceEvent> TraceLog::take() noexcept {
  LockGuard guard(lock_);
  return std::exchange(events_, {});
}

}  // namespace tapml::runtime
