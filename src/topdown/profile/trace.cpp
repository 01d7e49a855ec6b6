#include "topdown/profile/trace.h"

#include <algorithm>
#include <limits>

namespace tapml::topdown {

namespace {

using runtime::TraceEvent;

// Rows of a process: local and remote events.
constexpr int64_t kLocal = 1, kRemote = 2;

const char* kind_name(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::kKernel:
      return "kernel";
    case TraceEvent::Kind::kCopy:
      return "copy";
    case TraceEvent::Kind::kWait:
      return "wait";
  }
  return "?";
}

double microseconds(int64_t nanoseconds) { return 1e-3 * static_cast<double>(nanoseconds); }

Json name_event(const char* what, int64_t process, int64_t row, const std::string& name) {
  return Json::object({{"name", Json::string(what)},
                       {"ph", Json::string("M")},
                       {"pid", Json::integer(process)},
                       {"tid", Json::integer(row)},
                       {"args", Json::object({{"name", Json::string(name)}})}});
}

}  // namespace

Json chrome_trace(const std::vector<TraceTrack>& tracks) {
  int64_t zero = std::numeric_limits<int64_t>::max();
  for (const TraceTrack& track : tracks) {
    for (const TraceEvent& event : track.events) zero = std::min(zero, event.start);
  }
  std::vector<Json> events;
  int64_t process = 0;
  for (const TraceTrack& track : tracks) {
    events.push_back(name_event("process_name", ++process, kLocal, track.name));
    events.push_back(name_event("thread_name", process, kLocal, "local"));
    if (std::ranges::any_of(track.events, &TraceEvent::remote)) {
      events.push_back(name_event("thread_name", process, kRemote, "remote"));
    }
    for (size_t i = 0; i < track.events.size(); ++i) {
      const TraceEvent& event = track.events[i];
      Json args = Json::object({});
      if (event.kind == TraceEvent::Kind::kCopy) args.set("bytes", Json::integer(event.bytes));
      if (i < track.details.size()) args.set("tensors", Json::string(track.details[i]));
      events.push_back(Json::object({{"name", Json::string(event.name)},
                                     {"cat", Json::string(kind_name(event.kind))},
                                     {"ph", Json::string("X")},
                                     {"ts", Json::number(microseconds(event.start - zero))},
                                     {"dur", Json::number(microseconds(event.duration))},
                                     {"pid", Json::integer(process)},
                                     {"tid", Json::integer(event.remote ? kRemote : kLocal)},
                                     {"args", std::move(args)}}));
    }
  }
  return Json::object(
      {{"traceEvents", Json::array(std::move(events))}, {"displayTimeUnit", Json::string("ms")}});
}

}  // namespace tapml::topdown
