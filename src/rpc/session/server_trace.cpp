// Records what the device does and when, for the client's trace.
#include <algorithm>
#include <unordered_map>

#include "rpc/session/server_core.h"

namespace tapml::rpc {

namespace {

// Limit on events in one reply, well within that of a head.
constexpr size_t kMostEvents = 1 << 14;

}  // namespace

// Answers on success.
Status ServerCore::read_trace(uint64_t id) noexcept {
  if (events_.empty()) {
    TAPML_ASSIGN(events_, session_->take_trace());
    std::ranges::reverse(events_);  // they are taken from the end
  }
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<flatbuffers::Offset<flatbuffers::String>> names;
  std::vector<wire::Event> list;
  while (!events_.empty() && list.size() < kMostEvents) {
    const runtime::TraceEvent& event = events_.back();
    const auto [number, fresh] = numbers.emplace(event.name, static_cast<uint32_t>(names.size()));
    if (fresh) names.push_back(builder_.CreateString(event.name));
    list.emplace_back(event.start, event.duration, event.bytes, number->second,
                      static_cast<uint8_t>(event.kind));
    events_.pop_back();
  }
  reply(id, wire::CreateEventsDirect(builder_, &names, &list, !events_.empty()));
  return {};
}

}  // namespace tapml::rpc
