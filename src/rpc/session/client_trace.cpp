// Puts the trace of both ends on this side's clock.
#include <algorithm>

#include "rpc/session/client_session.h"

namespace tapml::rpc {

using runtime::TraceEvent;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Round trips per comparison: the quickest has the most precise midpoint.
constexpr int kPings = 12;
// Limit on the bytes of event names: events share them in the message, but not once they are read.
constexpr size_t kMostNameBytes = size_t{256} << 20;

}  // namespace

Result<ClientSession::ClockOffset> ClientSession::compare_clocks() noexcept {
  ClockOffset best;
  int64_t quickest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kPings; ++i) {
    ClientLink::Reply reply;
    const int64_t before = runtime::trace_now();
    TAPML_TRY(link_->call([](Builder& builder) { return wire::CreatePing(builder); }, reply));
    const int64_t after = runtime::trace_now();
    const auto* pong = reply.answer<wire::Pong>();
    if (!pong) return fail(protocol_error("a ping was answered by a message of another kind"));
    if (after - before >= quickest) continue;
    quickest = after - before;
    // Unsigned arithmetic wraps around, whatever the other side sends.
    const auto there = static_cast<uint64_t>(pong->time());
    const uint64_t middle = static_cast<uint64_t>(before) + static_cast<uint64_t>(quickest / 2);
    best = {pong->time(), static_cast<int64_t>(there - middle)};
  }
  return best;
}

Status ClientSession::start_trace() noexcept {
  if ((peer_.capabilities & kCapabilityTrace) != 0) {
    TAPML_ASSIGN(clock_, compare_clocks());
    TAPML_TRY(link_->post([](Builder& builder) { return wire::CreateStartTrace(builder); }));
  }
  return Session::start_trace();
}

Result<std::vector<TraceEvent>> ClientSession::take_trace() noexcept {
  TAPML_ASSIGN(std::vector<TraceEvent> events, Session::take_trace());
  if ((peer_.capabilities & kCapabilityTrace) == 0 || !trace().on()) return events;
  const ClockOffset begin = clock_;
  TAPML_ASSIGN(clock_, compare_clocks());
  // Clocks drift apart: the difference is interpolated linearly between the two comparisons.
  const double span =
      std::max(1.0, static_cast<double>(clock_.there) - static_cast<double>(begin.there));
  const double slope =
      (static_cast<double>(clock_.ahead) - static_cast<double>(begin.ahead)) / span;
  const auto to_local = [&](int64_t there) {
    const double since = static_cast<double>(there) - static_cast<double>(begin.there);
    // The clock of a hostile server may be further away than the type can hold.
    constexpr double kMost = 9e18;
    const auto drift = static_cast<int64_t>(
        std::clamp(std::clamp(slope, -1.0, 1.0) * std::clamp(since, 0.0, span), -kMost, kMost));
    return static_cast<int64_t>(static_cast<uint64_t>(there) - static_cast<uint64_t>(begin.ahead) -
                                static_cast<uint64_t>(drift));
  };
  size_t taken = 0, name_bytes = 0;
  for (bool more = true; more;) {
    ClientLink::Reply reply;
    TAPML_TRY(link_->call([](Builder& builder) { return wire::CreateReadTrace(builder); }, reply));
    const auto* answer = reply.answer<wire::Events>();
    if (!answer) {
      return fail(protocol_error("a trace request was answered by a message of another kind"));
    }
    const size_t count = size_of(answer->list());
    more = answer->more() && count > 0;
    for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
      const wire::Event* event = answer->list()->Get(i);
      const bool named = answer->names() && event->name() < answer->names()->size();
      if (!named || event->kind() > static_cast<uint8_t>(TraceEvent::Kind::kWait)) {
        return fail(protocol_error("an event of a trace is malformed"));
      }
      const auto* name = answer->names()->Get(event->name());
      name_bytes += name->size();
      if (++taken > runtime::TraceLog::kMostEvents || name_bytes > kMostNameBytes) {
        return fail(protocol_error("a trace has more events than a session keeps"));
      }
      events.push_back({static_cast<TraceEvent::Kind>(event->kind()), true, shown_text(name),
                        to_local(event->start()), event->duration(), event->bytes()});
    }
  }
  return events;
}

}  // namespace tapml::rpc
