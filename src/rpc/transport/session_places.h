// How many sessions there may be at once, known to the processes of all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace tapml::rpc {

// A session's process takes a place itself, before it welcomes its client; the server, which
// outlives it, gives the place back. Of processes that ask at once each gets a place of its own or
// none, and a place whose process died at any moment is found again by the session's number.
class SessionPlaces {
 public:
  // kLimit where there is no memory to share.
  static Result<std::unique_ptr<SessionPlaces>> create(int64_t most) noexcept;
  ~SessionPlaces();
  SessionPlaces(const SessionPlaces&) = delete;

  int64_t most() const noexcept { return static_cast<int64_t>(places_.size()); }
  int64_t taken() const noexcept;
  // In any process that was forked since create(). `session`: not 0, and one that has no place.
  // False where all are taken.
  bool take(int64_t session) noexcept;
  bool has(int64_t session) const noexcept;
  // Once the session's process is gone; nothing for a session without a place.
  void leave(int64_t session) noexcept;

 private:
  using Place = std::atomic<int64_t>;  // the session's number; 0: free
  static_assert(Place::is_always_lock_free, "several processes share it");
  explicit SessionPlaces(std::span<Place> places) noexcept : places_(places) {}

  std::span<Place> places_;
};

}  // namespace tapml::rpc
