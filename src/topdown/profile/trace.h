// Traces of sessions for chrome://tracing and Perfetto.
#pragma once

#include <string>
#include <vector>

#include "io/json.h"
#include "runtime/trace.h"

namespace tapml::topdown {

// The events of one session or one observer. All tracks of a trace share this process's clock.
struct TraceTrack {
  std::string name;
  std::vector<runtime::TraceEvent> events;
  std::vector<std::string> details;  // one per event; may be empty
};

// A Chrome trace: a process for each track, with a row for local events and one for events at the
// other end of a channel. Times start at the first event.
Json chrome_trace(const std::vector<TraceTrack>& tracks);

}  // namespace tapml::topdown
