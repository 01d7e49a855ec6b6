#include "rpc/transport/session_places.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

Result<std::unique_ptr<SessionPlaces>> SessionPlaces::create(int64_t most) noexcept {
  const auto count = static_cast<size_t>(std::max<int64_t>(most, 1));
  void* memory = ::mmap(nullptr, count * sizeof(Place), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(platform_error(PlatformFault::kLimit,
                               "no memory for the places of sessions: " + errno_text(errno)));
  }
  auto* places = static_cast<Place*>(memory);
  std::uninitialized_value_construct_n(places, count);
  return std::unique_ptr<SessionPlaces>(new SessionPlaces({places, count}));
}

SessionPlaces::~SessionPlaces() { ::munmap(places_.data(), places_.size_bytes()); }

int64_t SessionPlaces::taken() const noexcept {
  return std::ranges::count_if(places_, [](const Place& place) { return place.load() != 0; });
}

bool SessionPlaces::take(int64_t session) noexcept {
  return std::ranges::any_of(places_, [session](Place& place) {
    int64_t free = 0;
    return place.compare_exchange_strong(free, session);
  });
}

bool SessionPlaces::has(int64_t session) const noexcept {
  return std::ranges::any_of(places_,
                             [session](const Place& place) { return place.load() == session; });
}

void SessionPlaces::leave(int64_t session) noexcept {
  for (Place& place : places_) {
    if (place.load() == session) place.store(0);
  }
}

}  // namespace tapml::rpc
